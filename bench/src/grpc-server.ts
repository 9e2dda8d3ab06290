/** A process with a lease server over memory, and a bare echo beside it. Ends when whoever started it does. */

import { Server, ServerCredentials } from "@grpc/grpc-js";
import { LeaseServer } from "@leasehold/grpcdriver";
import { memlease } from "@leasehold/memlease";

export const ECHO = "/bench.Echo/Echo";
export type Ports = Readonly<{ lease: number; echo: number }>;

if (process.send !== undefined) {
  const reply = Buffer.alloc(Number(process.argv[2]), 7);
  const identity = (bytes: Buffer): Buffer => bytes;
  const server = new Server();
  server.register<Buffer, Buffer>(
    ECHO,
    (_call: unknown, done: (error: null, reply: Buffer) => void) => done(null, reply),
    identity,
    identity,
    "unary",
  );
  const echo = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
  const lease = await new LeaseServer({ lease: memlease() }).listen("127.0.0.1:0");
  process.on("disconnect", () => process.exit());
  process.send({ lease, echo } satisfies Ports);
}
