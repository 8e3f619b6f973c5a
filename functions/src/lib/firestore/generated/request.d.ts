import * as $protobuf from "protobufjs";
import Long = require("long");
export namespace Request {

    interface IRunQueryRequest {
        parent?: (string|null);
        structuredQuery?: (Request.IStructuredQuery|null);
        readTime?: (Uint8Array|null);
    }

    class RunQueryRequest implements IRunQueryRequest {
        constructor(properties?: Request.IRunQueryRequest);
        public parent: string;
        public structuredQuery?: (Request.IStructuredQuery|null);
        public readTime: Uint8Array;
        public static encode(message: Request.IRunQueryRequest, writer?: $protobuf.Writer): $protobuf.Writer;
    }

    interface IStructuredQuery {
        select?: (Request.StructuredQuery.IProjection|null);
        from?: (Request.StructuredQuery.ICollectionSelector[]|null);
        where?: (Request.StructuredQuery.IFilter|null);
        orderBy?: (Request.StructuredQuery.IOrder[]|null);
        startAt?: (Request.ICursor|null);
    }

    class StructuredQuery implements IStructuredQuery {
        constructor(properties?: Request.IStructuredQuery);
        public select?: (Request.StructuredQuery.IProjection|null);
        public from: Request.StructuredQuery.ICollectionSelector[];
        public where?: (Request.StructuredQuery.IFilter|null);
        public orderBy: Request.StructuredQuery.IOrder[];
        public startAt?: (Request.ICursor|null);
        public static encode(message: Request.IStructuredQuery, writer?: $protobuf.Writer): $protobuf.Writer;
    }

    namespace StructuredQuery {

        interface ICollectionSelector {
            collectionId?: (string|null);
        }

        class CollectionSelector implements ICollectionSelector {
            constructor(properties?: Request.StructuredQuery.ICollectionSelector);
            public collectionId: string;
            public static encode(message: Request.StructuredQuery.ICollectionSelector, writer?: $protobuf.Writer): $protobuf.Writer;
        }

        interface IFilter {
            compositeFilter?: (Request.StructuredQuery.ICompositeFilter|null);
            fieldFilter?: (Request.StructuredQuery.IFieldFilter|null);
        }

        class Filter implements IFilter {
            constructor(properties?: Request.StructuredQuery.IFilter);
            public compositeFilter?: (Request.StructuredQuery.ICompositeFilter|null);
            public fieldFilter?: (Request.StructuredQuery.IFieldFilter|null);
            public filterType?: ("compositeFilter"|"fieldFilter");
            public static encode(message: Request.StructuredQuery.IFilter, writer?: $protobuf.Writer): $protobuf.Writer;
        }

        interface ICompositeFilter {
            op?: (Request.StructuredQuery.CompositeFilter.Operator|null);
            filters?: (Request.StructuredQuery.IFilter[]|null);
        }

        class CompositeFilter implements ICompositeFilter {
            constructor(properties?: Request.StructuredQuery.ICompositeFilter);
            public op: Request.StructuredQuery.CompositeFilter.Operator;
            public filters: Request.StructuredQuery.IFilter[];
            public static encode(message: Request.StructuredQuery.ICompositeFilter, writer?: $protobuf.Writer): $protobuf.Writer;
        }

        namespace CompositeFilter {

            enum Operator {
                OPERATOR_UNSPECIFIED = 0,
                AND = 1
            }
        }

        interface IFieldFilter {
            field?: (Request.StructuredQuery.IFieldReference|null);
            op?: (Request.StructuredQuery.FieldFilter.Operator|null);
            value?: (Request.IValue|null);
        }

        class FieldFilter implements IFieldFilter {
            constructor(properties?: Request.StructuredQuery.IFieldFilter);
            public field?: (Request.StructuredQuery.IFieldReference|null);
            public op: Request.StructuredQuery.FieldFilter.Operator;
            public value?: (Request.IValue|null);
            public static encode(message: Request.StructuredQuery.IFieldFilter, writer?: $protobuf.Writer): $protobuf.Writer;
        }

        namespace FieldFilter {

            enum Operator {
                OPERATOR_UNSPECIFIED = 0,
                LESS_THAN = 1,
                GREATER_THAN_OR_EQUAL = 4,
                EQUAL = 5
            }
        }

        interface IOrder {
            field?: (Request.StructuredQuery.IFieldReference|null);
            direction?: (Request.StructuredQuery.Direction|null);
        }

        class Order implements IOrder {
            constructor(properties?: Request.StructuredQuery.IOrder);
            public field?: (Request.StructuredQuery.IFieldReference|null);
            public direction: Request.StructuredQuery.Direction;
            public static encode(message: Request.StructuredQuery.IOrder, writer?: $protobuf.Writer): $protobuf.Writer;
        }

        enum Direction {
            DIRECTION_UNSPECIFIED = 0,
            ASCENDING = 1
        }

        interface IFieldReference {
            fieldPath?: (string|null);
        }

        class FieldReference implements IFieldReference {
            constructor(properties?: Request.StructuredQuery.IFieldReference);
            public fieldPath: string;
            public static encode(message: Request.StructuredQuery.IFieldReference, writer?: $protobuf.Writer): $protobuf.Writer;
        }

        interface IProjection {
            fields?: (Request.StructuredQuery.IFieldReference[]|null);
        }

        class Projection implements IProjection {
            constructor(properties?: Request.StructuredQuery.IProjection);
            public fields: Request.StructuredQuery.IFieldReference[];
            public static encode(message: Request.StructuredQuery.IProjection, writer?: $protobuf.Writer): $protobuf.Writer;
        }
    }

    interface ICursor {
        values?: (Uint8Array[]|null);
    }

    class Cursor implements ICursor {
        constructor(properties?: Request.ICursor);
        public values: Uint8Array[];
        public static encode(message: Request.ICursor, writer?: $protobuf.Writer): $protobuf.Writer;
    }

    interface IValue {
        integerValue?: (number|Long|null);
        referenceValue?: (string|null);
        stringValue?: (string|null);
    }

    class Value implements IValue {
        constructor(properties?: Request.IValue);
        public integerValue?: (number|Long|null);
        public referenceValue?: (string|null);
        public stringValue?: (string|null);
        public valueType?: ("integerValue"|"referenceValue"|"stringValue");
        public static encode(message: Request.IValue, writer?: $protobuf.Writer): $protobuf.Writer;
    }
}
