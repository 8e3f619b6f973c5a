import * as $protobuf from "protobufjs";
import Long = require("long");
export namespace Response {

    interface IRunQueryResponse {
        document?: (Response.IDocument|null);
    }

    class RunQueryResponse implements IRunQueryResponse {
        constructor(properties?: Response.IRunQueryResponse);
        public document?: (Response.IDocument|null);
        public static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): Response.RunQueryResponse;
    }

    interface IDocument {
        name?: (string|null);
        fields?: ({ [k: string]: Response.IValue }|null);
    }

    class Document implements IDocument {
        constructor(properties?: Response.IDocument);
        public name: string;
        public fields: { [k: string]: Response.IValue };
        public static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): Response.Document;
    }

    interface IValue {
        mapValue?: (Response.IMapValue|null);
        arrayValue?: (Response.IArrayValue|null);
        stringValue?: (string|null);
    }

    class Value implements IValue {
        constructor(properties?: Response.IValue);
        public mapValue?: (Response.IMapValue|null);
        public arrayValue?: (Response.IArrayValue|null);
        public stringValue?: (string|null);
        public valueType?: ("mapValue"|"arrayValue"|"stringValue");
        public static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): Response.Value;
    }

    interface IMapValue {
        fields?: ({ [k: string]: Response.IValue }|null);
    }

    class MapValue implements IMapValue {
        constructor(properties?: Response.IMapValue);
        public fields: { [k: string]: Response.IValue };
        public static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): Response.MapValue;
    }

    interface IArrayValue {
        values?: (Response.IValue[]|null);
    }

    class ArrayValue implements IArrayValue {
        constructor(properties?: Response.IArrayValue);
        public values: Response.IValue[];
        public static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): Response.ArrayValue;
    }
}

export namespace Position {

    interface IRunQueryResponse {
        document?: (Position.IDocument|null);
        readTime?: (Uint8Array|null);
    }

    class RunQueryResponse implements IRunQueryResponse {
        constructor(properties?: Position.IRunQueryResponse);
        public document?: (Position.IDocument|null);
        public readTime: Uint8Array;
        public static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): Position.RunQueryResponse;
    }

    interface IDocument {
        name?: (string|null);
        fields?: ({ [k: string]: Uint8Array }|null);
    }

    class Document implements IDocument {
        constructor(properties?: Position.IDocument);
        public name: string;
        public fields: { [k: string]: Uint8Array };
        public static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): Position.Document;
    }
}
