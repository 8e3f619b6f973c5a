import * as $protobuf from "protobufjs";
import Long = require("long");
export namespace Entry {

    interface ICommitResponse {
        writeResults?: (Uint8Array[]|null);
    }

    class CommitResponse implements ICommitResponse {
        constructor(properties?: Entry.ICommitResponse);
        public writeResults: Uint8Array[];
        public static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): Entry.CommitResponse;
    }

    interface IRunQueryResponse {
        document?: (Entry.IDocument|null);
    }

    class RunQueryResponse implements IRunQueryResponse {
        constructor(properties?: Entry.IRunQueryResponse);
        public document?: (Entry.IDocument|null);
        public static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): Entry.RunQueryResponse;
    }

    interface IDocument {
        name?: (string|null);
        fields?: ({ [k: string]: Entry.IValue }|null);
    }

    class Document implements IDocument {
        constructor(properties?: Entry.IDocument);
        public name: string;
        public fields: { [k: string]: Entry.IValue };
        public static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): Entry.Document;
    }

    interface IValue {
        integerValue?: (number|Long|null);
        doubleValue?: (number|null);
    }

    class Value implements IValue {
        constructor(properties?: Entry.IValue);
        public integerValue?: (number|Long|null);
        public doubleValue?: (number|null);
        public valueType?: ("integerValue"|"doubleValue");
        public static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): Entry.Value;
    }
}
