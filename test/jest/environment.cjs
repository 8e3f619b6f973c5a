const { channel } = require('node:diagnostics_channel');
const { types } = require('node:util');
const { default: NodeEnvironment } = require('jest-environment-node');
const { createProgramEnvironment } = require('../../dev/run/programs');

/** The service subscribes to this channel until its process ends. */
const requests = channel('http.server.request.start');

/** Variables that a suite inherits and a program does not: those of Jest, and the settings of the suites. */
const OF_SUITES =
  /^(JEST_WORKER_ID|NODE_ENV|DEPLOY_PACKAGE|PYTHON|CHROMIUM_PATH|TEST_FIRESTORE|SEED|(FUZZ|SIMULATION)_\w+)$/;

/**
 * Removes two differences between a test file and a program: the environment variables of the person who starts Jest, and
 * errors of Node that are not instances of the file's own `Error`. When a file ends, its subscriptions end too, because the
 * next file in this worker loads the service again.
 */
module.exports = class ProgramEnvironment extends NodeEnvironment {
  #subscribers = [];

  constructor(...options) {
    const environment = createProgramEnvironment();
    for (const name of Object.keys(process.env)) if (!OF_SUITES.test(name)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, environment);
    super(...options);
    const { Error } = this.global;
    Object.defineProperty(Error, Symbol.hasInstance, {
      value(object) {
        const isInstance = Function.prototype[Symbol.hasInstance].call(this, object);
        // Before Node 24, a DOMException is not a native error.
        const isNative = types.isNativeError(object) || object instanceof globalThis.Error;
        return isInstance || (this === Error && isNative);
      },
    });
  }

  async setup() {
    await super.setup();
    requests.subscribe = (subscriber) => {
      this.#subscribers.push(subscriber);
      Object.getPrototypeOf(requests).subscribe.call(requests, subscriber);
    };
  }

  async teardown() {
    for (const subscriber of this.#subscribers) requests.unsubscribe(subscriber);
    delete requests.subscribe;
    await super.teardown();
  }
};
