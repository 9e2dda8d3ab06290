/** One request and its answer, as far as the double and its listeners care. */
export type HttpCall = Readonly<{
  method: string;
  /** With its query. */
  path: string;
  /** Lower-case names. */
  headers?: Readonly<Record<string, string>>;
  body?: string | undefined;
}>;

export type HttpAnswer = Readonly<{
  status: number;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string;
}>;
