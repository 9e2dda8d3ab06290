import { conformanceTests } from "@leasehold/conformance/vitest";
import { makeCertificates } from "./certificates.js";
import { FORGET_AFTER, servedStore } from "./served-store.js";

// What an author of such a client would write.
conformanceTests({ name: "grpcdriver", forgetAfter: FORGET_AFTER, open: () => servedStore() });

const { authority, server, client } = await makeCertificates();
const tls = {
  server: { ...server, clientCa: authority.cert },
  client: { ca: authority.cert, ...client },
};
conformanceTests({ name: "grpcdriver over mutual TLS", open: () => servedStore({ tls }) }, { effort: "quick" });
