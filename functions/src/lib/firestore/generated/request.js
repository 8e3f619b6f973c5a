/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars*/
"use strict";

var $protobuf = require("protobufjs/minimal");

var $Writer = $protobuf.Writer, $util = $protobuf.util;

var $root = $protobuf.roots["request"] || ($protobuf.roots["request"] = {});

$root.Request = (function() {

    var Request = {};

    Request.RunQueryRequest = (function() {

        function RunQueryRequest(properties) {
            if (properties)
                for (var keys = Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        }

        RunQueryRequest.prototype.parent = "";
        RunQueryRequest.prototype.structuredQuery = null;
        RunQueryRequest.prototype.readTime = $util.newBuffer([]);

        RunQueryRequest.encode = function encode(message, writer, q) {
            if (!writer)
                writer = $Writer.create();
            if (q === undefined)
                q = 0;
            if (q > $util.recursionLimit)
                throw Error("max depth exceeded");
            if (message.parent != null && Object.hasOwnProperty.call(message, "parent"))
                writer.uint32(10).string(message.parent);
            if (message.structuredQuery != null && Object.hasOwnProperty.call(message, "structuredQuery"))
                $root.Request.StructuredQuery.encode(message.structuredQuery, writer.uint32(18).fork(), q + 1).ldelim();
            if (message.readTime != null && Object.hasOwnProperty.call(message, "readTime"))
                writer.uint32(58).bytes(message.readTime);
            return writer;
        };

        return RunQueryRequest;
    })();

    Request.StructuredQuery = (function() {

        function StructuredQuery(properties) {
            this.from = [];
            this.orderBy = [];
            if (properties)
                for (var keys = Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        }

        StructuredQuery.prototype.select = null;
        StructuredQuery.prototype.from = $util.emptyArray;
        StructuredQuery.prototype.where = null;
        StructuredQuery.prototype.orderBy = $util.emptyArray;
        StructuredQuery.prototype.startAt = null;

        StructuredQuery.encode = function encode(message, writer, q) {
            if (!writer)
                writer = $Writer.create();
            if (q === undefined)
                q = 0;
            if (q > $util.recursionLimit)
                throw Error("max depth exceeded");
            if (message.select != null && Object.hasOwnProperty.call(message, "select"))
                $root.Request.StructuredQuery.Projection.encode(message.select, writer.uint32(10).fork(), q + 1).ldelim();
            if (message.from != null && message.from.length)
                for (var i = 0; i < message.from.length; ++i)
                    $root.Request.StructuredQuery.CollectionSelector.encode(message.from[i], writer.uint32(18).fork(), q + 1).ldelim();
            if (message.where != null && Object.hasOwnProperty.call(message, "where"))
                $root.Request.StructuredQuery.Filter.encode(message.where, writer.uint32(26).fork(), q + 1).ldelim();
            if (message.orderBy != null && message.orderBy.length)
                for (var i = 0; i < message.orderBy.length; ++i)
                    $root.Request.StructuredQuery.Order.encode(message.orderBy[i], writer.uint32(34).fork(), q + 1).ldelim();
            if (message.startAt != null && Object.hasOwnProperty.call(message, "startAt"))
                $root.Request.Cursor.encode(message.startAt, writer.uint32(58).fork(), q + 1).ldelim();
            return writer;
        };

        StructuredQuery.CollectionSelector = (function() {

            function CollectionSelector(properties) {
                if (properties)
                    for (var keys = Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            }

            CollectionSelector.prototype.collectionId = "";

            CollectionSelector.encode = function encode(message, writer, q) {
                if (!writer)
                    writer = $Writer.create();
                if (q === undefined)
                    q = 0;
                if (q > $util.recursionLimit)
                    throw Error("max depth exceeded");
                if (message.collectionId != null && Object.hasOwnProperty.call(message, "collectionId"))
                    writer.uint32(18).string(message.collectionId);
                return writer;
            };

            return CollectionSelector;
        })();

        StructuredQuery.Filter = (function() {

            function Filter(properties) {
                if (properties)
                    for (var keys = Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            }

            Filter.prototype.compositeFilter = null;
            Filter.prototype.fieldFilter = null;

            var $oneOfFields;

            Object.defineProperty(Filter.prototype, "filterType", {
                get: $util.oneOfGetter($oneOfFields = ["compositeFilter", "fieldFilter"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            Filter.encode = function encode(message, writer, q) {
                if (!writer)
                    writer = $Writer.create();
                if (q === undefined)
                    q = 0;
                if (q > $util.recursionLimit)
                    throw Error("max depth exceeded");
                if (message.compositeFilter != null && Object.hasOwnProperty.call(message, "compositeFilter"))
                    $root.Request.StructuredQuery.CompositeFilter.encode(message.compositeFilter, writer.uint32(10).fork(), q + 1).ldelim();
                if (message.fieldFilter != null && Object.hasOwnProperty.call(message, "fieldFilter"))
                    $root.Request.StructuredQuery.FieldFilter.encode(message.fieldFilter, writer.uint32(18).fork(), q + 1).ldelim();
                return writer;
            };

            return Filter;
        })();

        StructuredQuery.CompositeFilter = (function() {

            function CompositeFilter(properties) {
                this.filters = [];
                if (properties)
                    for (var keys = Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            }

            CompositeFilter.prototype.op = 0;
            CompositeFilter.prototype.filters = $util.emptyArray;

            CompositeFilter.encode = function encode(message, writer, q) {
                if (!writer)
                    writer = $Writer.create();
                if (q === undefined)
                    q = 0;
                if (q > $util.recursionLimit)
                    throw Error("max depth exceeded");
                if (message.op != null && Object.hasOwnProperty.call(message, "op"))
                    writer.uint32(8).int32(message.op);
                if (message.filters != null && message.filters.length)
                    for (var i = 0; i < message.filters.length; ++i)
                        $root.Request.StructuredQuery.Filter.encode(message.filters[i], writer.uint32(18).fork(), q + 1).ldelim();
                return writer;
            };

            CompositeFilter.Operator = (function() {
                var valuesById = {}, values = Object.create(valuesById);
                values[valuesById[0] = "OPERATOR_UNSPECIFIED"] = 0;
                values[valuesById[1] = "AND"] = 1;
                return values;
            })();

            return CompositeFilter;
        })();

        StructuredQuery.FieldFilter = (function() {

            function FieldFilter(properties) {
                if (properties)
                    for (var keys = Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            }

            FieldFilter.prototype.field = null;
            FieldFilter.prototype.op = 0;
            FieldFilter.prototype.value = null;

            FieldFilter.encode = function encode(message, writer, q) {
                if (!writer)
                    writer = $Writer.create();
                if (q === undefined)
                    q = 0;
                if (q > $util.recursionLimit)
                    throw Error("max depth exceeded");
                if (message.field != null && Object.hasOwnProperty.call(message, "field"))
                    $root.Request.StructuredQuery.FieldReference.encode(message.field, writer.uint32(10).fork(), q + 1).ldelim();
                if (message.op != null && Object.hasOwnProperty.call(message, "op"))
                    writer.uint32(16).int32(message.op);
                if (message.value != null && Object.hasOwnProperty.call(message, "value"))
                    $root.Request.Value.encode(message.value, writer.uint32(26).fork(), q + 1).ldelim();
                return writer;
            };

            FieldFilter.Operator = (function() {
                var valuesById = {}, values = Object.create(valuesById);
                values[valuesById[0] = "OPERATOR_UNSPECIFIED"] = 0;
                values[valuesById[1] = "LESS_THAN"] = 1;
                values[valuesById[4] = "GREATER_THAN_OR_EQUAL"] = 4;
                values[valuesById[5] = "EQUAL"] = 5;
                return values;
            })();

            return FieldFilter;
        })();

        StructuredQuery.Order = (function() {

            function Order(properties) {
                if (properties)
                    for (var keys = Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            }

            Order.prototype.field = null;
            Order.prototype.direction = 0;

            Order.encode = function encode(message, writer, q) {
                if (!writer)
                    writer = $Writer.create();
                if (q === undefined)
                    q = 0;
                if (q > $util.recursionLimit)
                    throw Error("max depth exceeded");
                if (message.field != null && Object.hasOwnProperty.call(message, "field"))
                    $root.Request.StructuredQuery.FieldReference.encode(message.field, writer.uint32(10).fork(), q + 1).ldelim();
                if (message.direction != null && Object.hasOwnProperty.call(message, "direction"))
                    writer.uint32(16).int32(message.direction);
                return writer;
            };

            return Order;
        })();

        StructuredQuery.Direction = (function() {
            var valuesById = {}, values = Object.create(valuesById);
            values[valuesById[0] = "DIRECTION_UNSPECIFIED"] = 0;
            values[valuesById[1] = "ASCENDING"] = 1;
            return values;
        })();

        StructuredQuery.FieldReference = (function() {

            function FieldReference(properties) {
                if (properties)
                    for (var keys = Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            }

            FieldReference.prototype.fieldPath = "";

            FieldReference.encode = function encode(message, writer, q) {
                if (!writer)
                    writer = $Writer.create();
                if (q === undefined)
                    q = 0;
                if (q > $util.recursionLimit)
                    throw Error("max depth exceeded");
                if (message.fieldPath != null && Object.hasOwnProperty.call(message, "fieldPath"))
                    writer.uint32(18).string(message.fieldPath);
                return writer;
            };

            return FieldReference;
        })();

        StructuredQuery.Projection = (function() {

            function Projection(properties) {
                this.fields = [];
                if (properties)
                    for (var keys = Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            }

            Projection.prototype.fields = $util.emptyArray;

            Projection.encode = function encode(message, writer, q) {
                if (!writer)
                    writer = $Writer.create();
                if (q === undefined)
                    q = 0;
                if (q > $util.recursionLimit)
                    throw Error("max depth exceeded");
                if (message.fields != null && message.fields.length)
                    for (var i = 0; i < message.fields.length; ++i)
                        $root.Request.StructuredQuery.FieldReference.encode(message.fields[i], writer.uint32(18).fork(), q + 1).ldelim();
                return writer;
            };

            return Projection;
        })();

        return StructuredQuery;
    })();

    Request.Cursor = (function() {

        function Cursor(properties) {
            this.values = [];
            if (properties)
                for (var keys = Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        }

        Cursor.prototype.values = $util.emptyArray;

        Cursor.encode = function encode(message, writer, q) {
            if (!writer)
                writer = $Writer.create();
            if (q === undefined)
                q = 0;
            if (q > $util.recursionLimit)
                throw Error("max depth exceeded");
            if (message.values != null && message.values.length)
                for (var i = 0; i < message.values.length; ++i)
                    writer.uint32(10).bytes(message.values[i]);
            return writer;
        };

        return Cursor;
    })();

    Request.Value = (function() {

        function Value(properties) {
            if (properties)
                for (var keys = Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        }

        Value.prototype.integerValue = null;
        Value.prototype.referenceValue = null;
        Value.prototype.stringValue = null;

        var $oneOfFields;

        Object.defineProperty(Value.prototype, "valueType", {
            get: $util.oneOfGetter($oneOfFields = ["integerValue", "referenceValue", "stringValue"]),
            set: $util.oneOfSetter($oneOfFields)
        });

        Value.encode = function encode(message, writer, q) {
            if (!writer)
                writer = $Writer.create();
            if (q === undefined)
                q = 0;
            if (q > $util.recursionLimit)
                throw Error("max depth exceeded");
            if (message.integerValue != null && Object.hasOwnProperty.call(message, "integerValue"))
                writer.uint32(16).int64(message.integerValue);
            if (message.referenceValue != null && Object.hasOwnProperty.call(message, "referenceValue"))
                writer.uint32(42).string(message.referenceValue);
            if (message.stringValue != null && Object.hasOwnProperty.call(message, "stringValue"))
                writer.uint32(138).string(message.stringValue);
            return writer;
        };

        return Value;
    })();

    return Request;
})();

module.exports = $root;
