/** Parts of the schemas of answers. */
import {
  closed,
  constant,
  type Members,
  type Schema,
  text,
  typed,
  type ValueOf,
} from '../../catalog/entities/json-schema.ts'

export const DONE = constant(1, '1: success.')
export const SUCCESS = text('Always `success`.')

/** In the answer to a write that was only tried. */
export const VALID = constant(true, 'The write was only tried, and nothing is stored.')

/** The schema with null as another type. */
export const nullable = <S extends Schema>(schema: S) =>
  typed<ValueOf<S> | null>({ ...schema, type: [schema['type'], 'null'] })

/** A component of the OpenAPI document, of this name. */
export const named = <S extends Schema>(name: string, schema: S): S => ({ ...schema, $id: name })

/** A component that is an object with these members only; all but `optional` are required. */
export const component = <P extends Members, const O extends string = never>(
  name: string,
  description: string,
  members: P,
  optional: readonly O[] = [],
) => named(name, closed(description, members, optional))

/** A component: a successful answer. */
export const success = <D extends Schema, const P extends Members = Record<never, never>>(
  name: string,
  description: string,
  details: D,
  more: P = {} as P,
) => component(name, description, { status: DONE, desc: SUCCESS, ...more, details })

/** The value of such an answer. */
export const succeeded = <const D, M extends object = object>(details: D, more: M = {} as M) =>
  ({ status: 1, desc: 'success', ...more, details }) as const
