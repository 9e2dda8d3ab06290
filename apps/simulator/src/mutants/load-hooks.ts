/**
 * Module hooks that plant one fault. The judge must not share the fault: whatever it imports is loaded a second time, as it
 * is, under an address of its own.
 */

import type { InitializeHook, LoadHook, ResolveHook } from "node:module";

const PRISTINE = "?pristine";

let planted: Readonly<{ url: string; find: string; replace: string }> | undefined;

export const initialize: InitializeHook<NonNullable<typeof planted>> = (data) => {
  planted = data;
};

export const resolve: ResolveHook = async (specifier, context, next) => {
  const resolved = await next(specifier, context);
  const { parentURL = "" } = context;
  const isJudge = parentURL.includes("/conformance/dist/") || parentURL.endsWith(PRISTINE);
  if (!isJudge || !resolved.url.includes("/session-lease/dist/")) return resolved;
  return { ...resolved, url: `${resolved.url}${PRISTINE}` };
};

export const load: LoadHook = async (url, context, next) => {
  const loaded = await next(url, context);
  if (planted === undefined || url !== planted.url) return loaded;
  return { ...loaded, source: String(loaded.source).replace(planted.find, () => planted?.replace ?? "") };
};
