const { types } = require('node:util');
const { default: NodeEnvironment } = require('jest-environment-node');

/**
 * Node's environment, with two differences that Jest makes to a program taken back: on a terminal it asks its workers for
 * colours, and errors of Node itself are no instances of `Error`, since a test file has built-in classes of its own.
 */
module.exports = class ProgramEnvironment extends NodeEnvironment {
  constructor(...options) {
    delete process.env.FORCE_COLOR;
    super(...options);
    const { Error } = this.global;
    Object.defineProperty(Error, Symbol.hasInstance, {
      value(object) {
        const isInstance = Function.prototype[Symbol.hasInstance].call(this, object);
        return isInstance || (this === Error && types.isNativeError(object));
      },
    });
  }
};
