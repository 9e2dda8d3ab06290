export default {
  testEnvironment: "node",
  testMatch: ["**/exam.mjs"],
  transform: {}, // what is here runs as it is
};
