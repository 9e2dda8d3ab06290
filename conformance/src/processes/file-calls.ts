/**
 * Every call of `node:fs` that this process makes, noticed before it is made. That is where a process can be stopped or killed
 * between two steps of a write, whatever code makes them, synchronous code included.
 *
 * Calls through `node:fs`, `node:fs/promises` and file handles are noticed, also of modules that imported them by name, if they
 * were imported before or after. A function that was kept in a variable before (a library's copy of the module) is not.
 */

import fs from "node:fs";
import fsp from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { devNull } from "node:os";

type Functions = Record<string, unknown>;

/** `onCall` is told the name of each function just before it is called, nested calls included. It may stop or end the process. */
export async function interceptFileCalls(onCall: (name: string) => void): Promise<void> {
  const handle = await fsp.open(devNull);
  const prototype = Object.getPrototypeOf(handle) as Functions;
  await handle.close();
  for (const functions of [fs, fsp, prototype] as unknown as Functions[]) intercept(functions, onCall);
  syncBuiltinESMExports();
}

function intercept(functions: Functions, onCall: (name: string) => void): void {
  for (const [name, { value, writable }] of Object.entries(Object.getOwnPropertyDescriptors(functions))) {
    // Classes, constants and getters are no calls.
    if (typeof value !== "function" || writable !== true || /^[A-Z_]|^constructor$/.test(name)) continue;
    const real = value as (...args: unknown[]) => unknown;
    const noticed = function (this: unknown, ...args: unknown[]): unknown {
      onCall(name);
      return real.apply(this, args);
    };
    // Functions of this module have properties: `realpath.native`, and what `promisify` looks for.
    const { prototype: _, ...properties } = Object.getOwnPropertyDescriptors(real);
    functions[name] = Object.defineProperties(noticed, properties);
  }
}
