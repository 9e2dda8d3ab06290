import { fileURLToPath } from "node:url";
import {
  behavesAsAServerOfYourOwn,
  endsAsAServerOfYourOwn,
  startPair,
  streamsToItsClient,
} from "../../test/own-server.js";

const pair = startPair([fileURLToPath(new URL("../server.mjs", import.meta.url))]);

behavesAsAServerOfYourOwn(pair);

streamsToItsClient(pair);

endsAsAServerOfYourOwn(pair);
