import { tokenFromText } from "@leasehold/session-lease";

/** A line that is not an event. The judge decides about histories; this is none. */
export class HistoryFormatError extends Error {
  constructor(file: string, line: number, problem: string) {
    super(`${file}:${line}: ${problem}`);
    this.name = "HistoryFormatError";
  }
}

/** Typed access to the fields of one JSON object. Every method throws `HistoryFormatError` when the field is not what it should be. */
export class Fields {
  readonly #json: Readonly<Record<string, unknown>>;
  readonly #file: string;
  readonly #line: number;

  constructor(json: unknown, file: string, line: number) {
    this.#file = file;
    this.#line = line;
    if (typeof json !== "object" || json === null || Array.isArray(json)) this.wrong("an event is a JSON object");
    this.#json = json as Readonly<Record<string, unknown>>;
  }

  wrong(problem: string): never {
    throw new HistoryFormatError(this.#file, this.#line, problem);
  }

  text(name: string): string {
    return this.textIfGiven(name) ?? this.#missing(name, "text");
  }

  textIfGiven(name: string): string | undefined {
    const value = this.#json[name];
    return value === undefined || (typeof value === "string" && value !== "") ? value : this.#missing(name, "text");
  }

  number(name: string): number {
    return this.numberIfGiven(name) ?? this.#missing(name, "a finite number");
  }

  integer(name: string): number {
    const value = this.number(name);
    return Number.isSafeInteger(value) ? value : this.#missing(name, "a whole number");
  }

  numberIfGiven(name: string): number | undefined {
    const value = this.#json[name];
    return value === undefined || (typeof value === "number" && Number.isFinite(value))
      ? value
      : this.#missing(name, "a finite number");
  }

  /** Zero or more. */
  durationIfGiven(name: string): number | undefined {
    const value = this.numberIfGiven(name);
    return value === undefined || value >= 0 ? value : this.#missing(name, "zero or more");
  }

  flagIfGiven(name: string): boolean | undefined {
    const value = this.#json[name];
    return value === undefined || typeof value === "boolean" ? value : this.#missing(name, "true or false");
  }

  token(name: string): bigint {
    return this.tokenIfGiven(name) ?? this.#missing(name, "a token");
  }

  /** Zero is allowed: it is what a store that has seen nothing passes as a floor. */
  tokenIfGiven(name: string): bigint | undefined {
    const value = this.textIfGiven(name);
    if (value === undefined) return undefined;
    if (value === "0") return 0n;
    try {
      return tokenFromText(value);
    } catch {
      return this.#missing(name, "a token in decimal text");
    }
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T {
    return this.oneOfIfGiven(name, allowed) ?? this.#missing(name, `one of ${allowed.join(", ")}`);
  }

  oneOfIfGiven<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.#json[name];
    return value === undefined || allowed.includes(value as T)
      ? (value as T | undefined)
      : this.#missing(name, `one of ${allowed.join(", ")}`);
  }

  object(name: string): Fields {
    return this.objectIfGiven(name) ?? this.#missing(name, "an object");
  }

  objectIfGiven(name: string): Fields | undefined {
    const value = this.#json[name];
    return value === undefined ? undefined : new Fields(value, this.#file, this.#line);
  }

  list(name: string): readonly Fields[] {
    const value = this.#json[name];
    if (!Array.isArray(value)) return this.#missing(name, "a list");
    return value.map((each) => new Fields(each, this.#file, this.#line));
  }

  textsIfGiven(name: string): readonly string[] | undefined {
    const value = this.#json[name];
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || !value.every((each) => typeof each === "string")) {
      return this.#missing(name, "a list of texts");
    }
    return value;
  }

  #missing(name: string, what: string): never {
    return this.wrong(`"${name}" should be ${what}, not ${JSON.stringify(this.#json[name])}`);
  }
}
