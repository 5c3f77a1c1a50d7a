// The builders of schemas in use, imported one by one: the library's one object of all of them would be a seventh of what
// every session loads. In a checkout Pi's loader replaces the library with its own edition.
import {
  Array as ArrayOf,
  Boolean as BooleanType,
  Integer,
  Literal,
  Null,
  Number as NumberType,
  Object as ObjectType,
  Optional,
  String as StringType,
  Union,
  Unsafe,
} from "@sinclair/typebox";

export type { Static, TSchema } from "@sinclair/typebox";

export const Type = {
  Array: ArrayOf,
  Boolean: BooleanType,
  Integer,
  Literal,
  Null,
  Number: NumberType,
  Object: ObjectType,
  Optional,
  String: StringType,
  Union,
  Unsafe,
};
