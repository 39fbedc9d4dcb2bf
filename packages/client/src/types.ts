/** Types of calls, by the paths that openapi-typescript generates. */

export type Method = 'get' | 'post'

/** Paths without parameters in them that answer in JSON, not only refusals. */
export type PathOf<Paths, M extends Method> = {
  [P in keyof Paths]: [AnswerOf<Paths, M, P>] extends [never]
    ? never
    : P extends `${string}{${string}`
      ? never
      : P
}[keyof Paths] &
  string

type OperationOf<Paths, M extends Method, P> = P extends keyof Paths
  ? Paths[P] extends Record<M, infer Operation>
    ? Operation
    : never
  : never

type ResponseOf<Operation> = Operation extends {
  responses: { 200: { content: { 'application/json': infer Answer } } }
}
  ? Answer
  : never

/** The answer of a success; refusals are thrown. */
export type AnswerOf<Paths, M extends Method, P> = Exclude<
  ResponseOf<OperationOf<Paths, M, P>>,
  { status: 0 }
>

type Query<Operation> = Operation extends { parameters: { query?: infer Parameters } }
  ? NonNullable<Parameters>
  : never

type Body<Operation> = Operation extends {
  requestBody?: { content: { 'application/json': infer Json } }
}
  ? Json
  : never

/** The parameters that a call must or may have. */
type Given<Parameters, Options> = [Parameters] extends [never]
  ? [parameters?: Record<string, never>, options?: Options]
  : object extends Parameters
    ? [parameters?: Parameters, options?: Options]
    : [parameters: Parameters, options?: Options]

export type QueryOf<Paths, P, Options> = Given<Query<OperationOf<Paths, 'get', P>>, Options>
export type BodyOf<Paths, P, Options> = Given<Body<OperationOf<Paths, 'post', P>>, Options>
