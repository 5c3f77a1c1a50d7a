// The builders of schemas in use, by their own names: the library's one object of all of them would be a seventh of what
// every session loads. In a checkout Pi's loader puts its own edition of the library in the place of this one.
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
