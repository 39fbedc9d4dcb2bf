/** Types of calls, from the OpenAPI document. */
import type { paths } from 'tollgate-api'
import type { Figure, WithFigures } from './figures.ts'

type PathWith<Method extends 'get' | 'post'> = {
  [K in keyof paths]: paths[K] extends { [M in Method]: { responses: unknown } }
    ? K extends `/${infer Rest}`
      ? Rest
      : never
    : never
}[keyof paths]

/** Paths that are called by POST, without the slash at their begin. */
export type Path = PathWith<'post'>
/** Likewise, by GET. */
export type GetPath = PathWith<'get'>

type Operation<P extends string> = `/${P}` extends keyof paths
  ? paths[`/${P}`] extends { post: infer Post extends object }
    ? Post
    : paths[`/${P}`] extends { get: infer Get extends object }
      ? Get
      : never
  : never

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : never
type Responses<P extends string> = Operation<P> extends { responses: { 200: infer R } } ? R : never

/** The whole answer of a success. */
export type AnswerOf<P extends string> = WithFigures<RawAnswer<P>>

type RawAnswer<P extends string> = Exclude<Json<Responses<P>>, { status: 0 }>

/** Details with plain numbers: measured values, no money. */
export type RawDetailsOf<P extends string> =
  RawAnswer<P> extends { details?: infer Details } ? NonNullable<Details> : never

/** `details` of a success, or the whole answer if it has none. */
export type DetailsOf<P extends string> =
  AnswerOf<P> extends { details?: infer Details } ? NonNullable<Details> : AnswerOf<P>

/** Whole numbers may be given back as they were read. */
type Provided<T> = T extends number
  ? Figure
  : T extends readonly (infer Item)[]
    ? readonly Provided<Item>[]
    : T extends object
      ? { [Key in keyof T]: Provided<T[Key]> }
      : T

export type BodyOf<P extends string> =
  Operation<P> extends { requestBody?: { content: { 'application/json': infer Body } } }
    ? Provided<Body>
    : Record<string, unknown>

type QueryIn<P extends string> = `/${P}` extends keyof paths
  ? paths[`/${P}`] extends { get: { parameters: { query?: infer Query } } }
    ? Query
    : never
  : never

export type QueryOf<P extends string> = [QueryIn<P>] extends [never]
  ? Record<string, unknown>
  : Provided<QueryIn<P>>
