/**
 * All that flocklease asks of a file system, so that a simulator can stand in for one: stop or kill a process between any
 * two steps, fill the disk, show a listing that was never true at one instant.
 *
 * Paths are absolute. Every method rejects with an error that has an errno `code`, as those of `node:fs` do.
 */

export interface LeaseFiles {
  /** Makes the directory and its parents, mode 0700, and resolves to its real path. One that exists is left as it is. */
  makeRoot(path: string): Promise<string>;
  /** The name of the network file system that the path is on; undefined for a local or an unknown one. */
  networkFileSystem(path: string): Promise<string | undefined>;
  /**
   * The names in a directory. Need not be atomic: a name that is there from beginning to end is in it, one that was never
   * there is not, and any other may or may not be.
   */
  list(path: string): Promise<string[]>;
  read(path: string): Promise<string>;
  /** Writes a new file, mode 0600; EEXIST if there is one. `durable`: it is on the disk when the promise resolves. */
  write(path: string, text: string, durable: boolean): Promise<void>;
  /** link(2): gives the file a second name, in one step; EEXIST if that name is taken. */
  link(existing: string, path: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** Makes one directory, mode 0700; EEXIST if there is one. */
  mkdir(path: string): Promise<void>;
  /** rename(2) of a directory, in one step; ENOTEMPTY (or EEXIST) unless `to` is absent or an empty directory. */
  renameDirectory(from: string, to: string): Promise<void>;
  /** ENOTEMPTY (or EEXIST) unless it is empty. */
  rmdir(path: string): Promise<void>;
  /** Brings the names in a directory to the disk. */
  syncDirectory(path: string): Promise<void>;
  /** Bytes, and epoch ms of the last change, rounded as the file system likes. Follows no symbolic link. */
  stat(path: string): Promise<Readonly<{ size: number; modifiedAt: number }>>;
  /**
   * The file behind a name: an id that all of its names share and nothing else has meanwhile, and how many names there are,
   * whoever gave them; 1 for a directory. Follows no symbolic link.
   */
  inode(path: string): Promise<Readonly<{ id: string; links: number }>>;
  /**
   * Calls back soon after a name in the directory came or went, or the directory itself did (`name` undefined where that
   * cannot be told), and `onLost` once if it can watch no longer. Throws at once where it cannot watch at all.
   */
  watch(path: string, onEvent: (name: string | undefined) => void, onLost: () => void): () => void;
}
