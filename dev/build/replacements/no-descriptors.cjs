'use strict';
const { Enum, Root, Type } = require('protobufjs');

/**
 * Replaces protobufjs/ext/descriptor in the bundle (dev/build/build.mjs). @grpc/proto-loader makes
 * a descriptor of every message that it loads, for gRPC's reflection service. This service has no
 * reflection service, and encodes and decodes messages without descriptors.
 */
Root.prototype.toDescriptor = () => ({ file: [] });
Enum.prototype.toDescriptor = Type.prototype.toDescriptor = () => ({ $type: { toObject: () => ({}) } });
