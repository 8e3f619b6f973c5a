const { channel } = require('node:diagnostics_channel');
const { types } = require('node:util');
const { default: NodeEnvironment } = require('jest-environment-node');

/** The service subscribes to it for the life of its process, here of a test file. */
const requests = channel('http.server.request.start');

/**
 * Node's environment, with two differences that Jest makes to a program taken back: on a terminal
 * it asks its workers for colours, and errors of Node itself are no instances of `Error`, since a
 * test file has built-in classes of its own. What a file subscribes to ends with it: the next one
 * in this worker has a service of its own.
 */
module.exports = class ProgramEnvironment extends NodeEnvironment {
  #subscribers = [];

  constructor(...options) {
    delete process.env.FORCE_COLOR;
    super(...options);
    const { Error } = this.global;
    Object.defineProperty(Error, Symbol.hasInstance, {
      value(object) {
        const isInstance = Function.prototype[Symbol.hasInstance].call(this, object);
        // A DOMException is a native error from Node 24 on.
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
