export { Authority, type Pair } from "./authority.js";
