/** Answers checked against the OpenAPI document, by JSON Schema 2020-12. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { type OpenApiDocument, openApiDocument } from '../../../../src/admin/openapi/document.ts'
import type { Operation } from '../../../../src/admin/openapi/operations.ts'
import type { Schema } from '../../../../src/catalog/entities/json-schema.ts'
import { DEFINITIONS } from '../../../../src/entities/definitions/collections.ts'
import { DEFAULT_FIELDS } from '../../../../src/entities/fields/defaults.ts'

export const DOCUMENT = openApiDocument(DEFINITIONS, {
  fields: new Map(Object.entries(DEFAULT_FIELDS)),
  version: '6.0',
  baseUrl: 'http://127.0.0.1:8182',
})

export interface Checked {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly status: number
  readonly contentType: string
  readonly body: unknown
}

export interface AnswerCheck {
  /** Deviations of an answer from the document; null if the document does not describe it. */
  problems(answer: Checked): string[] | null
  /** Deviations of a value from a schema of the document. */
  mismatches(schema: Schema, value: unknown): string[]
}

const SCHEMAS = '#/components/schemas/'
const BASE = 'https://tollgate.test/'
/** Values, not schemas: their content must not be read as a schema. */
const VALUES: ReadonlySet<string> = new Set(['examples', 'example', 'default'])

/**
 * With absolute addresses in references to components. An object that does not say which other
 * members it may have is closed: answers have no undeclared ones.
 */
function rewritten(value: unknown, isSchema = true): unknown {
  if (Array.isArray(value)) return value.map((each) => rewritten(each))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([key]) => !isSchema || !VALUES.has(key))
  const isClosed = isSchema && 'properties' in value && !('additionalProperties' in value)
  return {
    ...Object.fromEntries(
      kept.map(([key, part]) => {
        const isRef = isSchema && key === '$ref' && typeof part === 'string'
        if (isRef) return [key, part.replace(SCHEMAS, BASE)]
        return [key, rewritten(part, !(isSchema && /^(?:patternP|p)roperties$/.test(key)))]
      }),
    ),
    ...(isClosed && { additionalProperties: false }),
  }
}

export function createAnswerCheck(document: OpenApiDocument): AnswerCheck {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    ajv.addSchema(rewritten(schema) as object, `${BASE}${name}`)
  }
  const compiled = new Map<Schema, ValidateFunction>()
  const mismatches: AnswerCheck['mismatches'] = (schema, value) => {
    const known = compiled.get(schema) ?? ajv.compile(rewritten(schema) as object)
    compiled.set(schema, known)
    if (known(value)) return []
    const errors = (known.errors ?? []).filter(({ keyword }) => keyword !== 'anyOf')
    return errors.map(({ instancePath, message, params }) => {
      const { additionalProperty: member } = params
      const named = member === undefined ? '' : `: ${member}`
      return `${instancePath} ${message}${named}`
    })
  }
  return {
    mismatches,
    problems({ method, path, status, contentType, body }) {
      const item = document.paths[path]
      const operation: Operation | undefined = method === 'GET' ? item?.get : item?.post
      if (operation === undefined) return null
      const response = resolved(document, operation.responses[String(status)])
      if (response === undefined) return [`status ${status} is not documented`]
      const content = (response['content'] ?? {}) as Record<string, { schema: Schema }>
      const type = contentType.split(';', 1)[0] ?? ''
      const media = content[type]
      if (media === undefined) return [`content of type ${type} is not documented`]
      return mismatches(media.schema, body)
    },
  }
}

const SHARED = createAnswerCheck(DOCUMENT)

/**
 * For the clients that tests share: throws if an answer is not as the document describes it.
 * Requests that it does not describe are not checked. `sent`: the path with a query.
 */
export function requireDocumented(answer: Omit<Checked, 'path'> & { readonly sent: string }): void {
  const [path = ''] = answer.sent.split('?', 1)
  const { method, status, body } = answer
  const problems = SHARED.problems({ ...answer, path }) ?? []
  if (problems.length === 0) return
  const shown = JSON.stringify(body).slice(0, 500)
  throw new Error(
    `${method} ${path} ${status} is not as documented: ${problems.join('; ')}: ${shown}`,
  )
}

/** The JSON body of a response, which must be as the document describes it. */
export async function documentedBody(
  method: Checked['method'],
  response: Response,
): Promise<Record<string, unknown>> {
  const { url, status, headers } = response
  const body = (await response.json()) as Record<string, unknown>
  const contentType = headers.get('content-type') ?? ''
  requireDocumented({ method, sent: new URL(url).pathname, status, contentType, body })
  return body
}

/** A response, or the component that it refers to. */
export function resolved(
  { components }: OpenApiDocument,
  response: Schema | undefined,
): Schema | undefined {
  const { $ref: pointer } = response ?? {}
  if (typeof pointer !== 'string') return response
  return components.responses[pointer.slice('#/components/responses/'.length)]
}
