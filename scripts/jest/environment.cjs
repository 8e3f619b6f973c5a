const { channel } = require('node:diagnostics_channel');
const { sep } = require('node:path');
const { types } = require('node:util');
const { default: NodeEnvironment } = require('jest-environment-node');

/** Built-in classes of which Jest gives each test file its own, and how an object of any of them is told. */
const KINDS = {
  Object: (value) => (typeof value === 'object' && value !== null) || typeof value === 'function',
  Function: (value) => typeof value === 'function',
  Array: Array.isArray,
  Error: types.isNativeError,
  Promise: types.isPromise,
  Map: types.isMap,
  Set: types.isSet,
  Date: types.isDate,
  RegExp: types.isRegExp,
  Float64Array: types.isFloat64Array,
};

/** Makes `instanceof` of the built-in classes true for objects that come from another realm. */
function spanRealms(global) {
  for (const [name, isKind] of Object.entries(KINDS)) {
    const builtIn = global[name];
    Object.defineProperty(builtIn, Symbol.hasInstance, {
      configurable: true,
      value(object) {
        return (this === builtIn && isKind(object)) || Function.prototype[Symbol.hasInstance].call(this, object);
      },
    });
  }
}

spanRealms(globalThis);

// Set by jest.config.mjs for this process. Programs that tests start have caches of their own, or none.
delete process.env.NODE_COMPILE_CACHE;

// Jest asks its workers for colours on a terminal. What is tested is to write the same there as in a pipe.
delete process.env.FORCE_COLOR;

// Repeats a run of the property tests. Their files load the same fast-check, by runtime.cjs.
const { SEED } = process.env;
if (SEED !== undefined) require('fast-check').configureGlobal({ seed: Number(SEED) });

const PACKAGES = `${sep}node_modules${sep}`;

/**
 * Has Jest look up only the frames of this repository in source maps. The Firestore SDK takes a stack for every call, and
 * Jest would take longer over it than the SDK over the call.
 */
function formatStacksFaster() {
  const { prepareStackTrace } = Error;
  const formatFrame = (frame) => {
    const file = frame.getFileName() ?? 'node:';
    return file.startsWith('node:') || file.includes(PACKAGES)
      ? `\n    at ${frame}`
      : prepareStackTrace({ name: 'Error' }, [frame]).slice('Error: '.length);
  };
  Error.prepareStackTrace = (error, frames) => {
    const title = `${error.name || 'Error'}: ${error.message ?? ''}`;
    return title + frames.map(formatFrame).join('');
  };
}

/** The service subscribes to it for the life of its process, which here is the life of a test file. */
const requests = channel('http.server.request.start');

/** Node's environment for tests, beside packages that all test files share (runtime.cjs). */
module.exports = class SharedPackagesEnvironment extends NodeEnvironment {
  #variables;
  #subscribers = [];

  async setup() {
    await super.setup();
    spanRealms(this.global);
    formatStacksFaster();
    // Packages read the environment variables of the process, so tests have to set the same.
    this.#variables = { ...process.env };
    this.global.process.env = process.env;
    requests.subscribe = (subscriber) => {
      this.#subscribers.push(subscriber);
      Object.getPrototypeOf(requests).subscribe.call(requests, subscriber);
    };
  }

  async teardown() {
    for (const subscriber of this.#subscribers) requests.unsubscribe(subscriber);
    delete requests.subscribe;
    for (const name of Object.keys(process.env))
      if (!(name in this.#variables)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, this.#variables);
    await super.teardown();
  }
};
