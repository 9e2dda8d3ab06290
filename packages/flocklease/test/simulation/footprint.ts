/**
 * What a step depends on, and what depends on it. Two steps of different processes whose footprints do not clash can change
 * places: neither sees of the other.
 */

export interface Footprint {
  /** Paths whose node it looks at. */
  readonly reads?: readonly string[];
  /** Directories whose names it looks at. */
  readonly lists?: readonly string[];
  /** Paths at which there is something else afterwards, and with it everything below them. */
  readonly writes?: readonly string[];
  /** It moves the clock, which every process reads at any time. */
  readonly all?: true;
}

export function clash(a: Footprint, b: Footprint): boolean {
  return a.all === true || b.all === true || disturbs(a, b) || disturbs(b, a);
}

function disturbs({ writes = [] }: Footprint, other: Footprint): boolean {
  const { reads = [], lists = [] } = other;
  return writes.some(
    (path) =>
      [...reads, ...(other.writes ?? [])].some((place) => isAtOrBelow(place, path)) ||
      lists.some((directory) => isAtOrBelow(directory, path) || path.slice(0, path.lastIndexOf("/")) === directory),
  );
}

function isAtOrBelow(place: string, path: string): boolean {
  return place === path || (place.startsWith(path) && place[path.length] === "/");
}
