/**
 * Keeps this process alive until it calls `exit`. The timers of the libraries keep no process alive, and before a server
 * listens, or after, there may be nothing else that does.
 */
export function stayAlive(): void {
  setInterval(() => {}, 2 ** 31 - 1);
}
