/** A unit file as systemd reads it, as far as ours goes: sections, comments, and settings that stand once. */

export type Settings = Readonly<Record<string, string>>;

export interface Unit {
  readonly Service: Settings;
  readonly [section: string]: Settings;
}

/** Throws for a line that is none, and for a setting that stands twice. */
export function parseUnit(text: string): Unit {
  const unit: { Service: Record<string, string>; [section: string]: Record<string, string> } = { Service: {} };
  let section: Record<string, string> | undefined;
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line === "" || line.startsWith("#") || line.startsWith(";")) continue;
    const [, name] = /^\[(\w+)\]$/.exec(line) ?? [];
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name !== undefined) {
      section = {};
      unit[name] = section;
    } else if (section !== undefined && key !== undefined && value !== undefined && section[key] === undefined) {
      section[key] = value;
    } else {
      throw new Error(`this line makes no sense here: ${line}`);
    }
  }
  return unit;
}

/** Of a time span in seconds, the unit being written out. */
export function milliseconds(span: string | undefined): number {
  const [, number] = /^(\d+)s$/.exec(span ?? "") ?? [];
  if (number === undefined) throw new Error(`not a number of seconds: ${span}`);
  return Number(number) * 1_000;
}
