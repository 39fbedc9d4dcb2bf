/** The OpenAPI document is suitable for client generators, and readable for people. */
import { describe, expect, it } from 'vitest'
import { errorBody } from '../../../src/admin/client-errors.ts'
import type { Operation } from '../../../src/admin/openapi/operations.ts'
import { refName, type Schema } from '../../../src/catalog/entities/json-schema.ts'
import { ifMatchOf } from '../../../src/entities/requests/versions.ts'
import { ActionError, EntityRuleError, TargetError } from '../../../src/requests/errors.ts'
import { createAnswerCheck, DOCUMENT, resolved } from '../../support/admin/openapi/answer-check.ts'

const check = createAnswerCheck(DOCUMENT)
const { schemas, responses } = DOCUMENT.components

interface Located {
  readonly at: string
  readonly schema: Schema
  /** A field or member, which needs a description. */
  readonly isNamed: boolean
}

function* partsOf({ at, schema }: Pick<Located, 'at' | 'schema'>): Generator<Located> {
  yield { at, schema, isNamed: false }
  for (const keyword of ['properties', 'patternProperties']) {
    for (const [name, part] of Object.entries((schema[keyword] ?? {}) as Record<string, Schema>)) {
      const inner = { at: `${at}.${name}`, schema: part }
      yield { ...inner, isNamed: true }
      yield* partsOf(inner)
    }
  }
  for (const keyword of ['items', 'additionalProperties']) {
    const part = schema[keyword]
    if (typeof part !== 'object' || part === null) continue
    const inner = { at: `${at}.${keyword}`, schema: part as Schema }
    yield { ...inner, isNamed: true }
    yield* partsOf(inner)
  }
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
    for (const [index, part] of ((schema[keyword] ?? []) as Schema[]).entries()) {
      yield* partsOf({ at: `${at}.${keyword}.${index}`, schema: part })
    }
  }
}

/** Why a schema is useless for a client generator. */
function untyped({ type, anyOf, items, ...schema }: Schema): string | null {
  if (refName(schema) !== null) return null
  const { properties, additionalProperties: others, const: constant } = schema
  if (Array.isArray(anyOf)) {
    const types = anyOf.map((each) => (each as Schema)['type'])
    const isMixed = types.includes('array') && types.includes('object')
    return isMixed ? 'is a list or an object, inline' : null
  }
  if (type === undefined && constant === undefined) return 'has no type'
  if ([type].flat().includes('array') && items === undefined) return 'is a list of anything'
  const hasParts = Object.keys((properties as object) ?? {}).length > 0
  const isOpen = typeof others === 'object' && Object.keys(others as object).length > 0
  if ([type].flat().includes('object') && !hasParts && !isOpen) return 'is an object of anything'
  return null
}

function isDescribed(schema: Schema): boolean {
  const { description } = schema
  if (typeof description === 'string' && description.length > 3) return true
  const name = refName(schema)
  return name !== null && schemas[name] !== undefined && isDescribed(schemas[name])
}

interface Called {
  readonly at: string
  readonly path: string
  readonly operation: Operation
}

const OPERATIONS: Called[] = Object.entries(DOCUMENT.paths).flatMap(([path, { get, post }]) => [
  ...(get === undefined ? [] : [{ at: `GET ${path}`, path, operation: get }]),
  ...(post === undefined ? [] : [{ at: `POST ${path}`, path, operation: post }]),
])

interface Media {
  readonly at: string
  readonly schema: Schema
  readonly examples: readonly unknown[]
}

/** The value of an example, which may be a component. */
function exampleOf({ $ref: pointer, value }: Schema): unknown {
  if (typeof pointer !== 'string') return value
  return DOCUMENT.components.examples[pointer.slice(pointer.lastIndexOf('/') + 1)]?.['value']
}

function mediaOf(at: string, holder: Schema | undefined): Media[] {
  const content = (holder?.['content'] ?? {}) as Record<string, Schema>
  return Object.entries(content).map(([type, media]) => {
    const { schema, example, examples = {} } = media
    const named = Object.values(examples as Record<string, Schema>).map(exampleOf)
    const all = example === undefined ? named : [example, ...named]
    return { at: `${at} ${type}`, schema: schema as Schema, examples: all }
  })
}

const PARAMETERS = OPERATIONS.flatMap(({ at, operation }) =>
  (operation.parameters ?? []).map((parameter) => ({
    at: `${at} ${parameter['name']}`,
    parameter,
  })),
)
const MEDIA: Media[] = [
  ...OPERATIONS.flatMap(({ at, operation }) => [
    ...mediaOf(at, operation.requestBody),
    ...Object.entries(operation.responses).flatMap(([status, response]) =>
      mediaOf(`${at} ${status}`, response),
    ),
  ]),
  ...Object.entries(responses).flatMap(([name, response]) => mediaOf(name, response)),
  ...PARAMETERS.flatMap(({ at, parameter }) => mediaOf(at, parameter)),
]
const INLINE = PARAMETERS.flatMap(({ at, parameter }) =>
  parameter['schema'] === undefined ? [] : [{ at, schema: parameter['schema'] as Schema }],
)
const PARTS: Located[] = [
  ...Object.entries(schemas).map(([at, schema]) => ({ at, schema })),
  ...MEDIA,
  ...INLINE,
].flatMap((root) => [...partsOf(root)])

const places = (found: readonly { at: string }[]) => [...new Set(found.map(({ at }) => at))]

describe('every schema', () => {
  it('has a type, and lists and objects have a type of their members', () => {
    const found = PARTS.flatMap(({ at, schema }) => {
      const problem = untyped(schema)
      return problem === null ? [] : [`${at} ${problem}`]
    })
    expect([...new Set(found)]).toEqual([])
  })

  it('is described: fields, members and components', () => {
    expect(places(PARTS.filter(({ schema, isNamed }) => isNamed && !isDescribed(schema)))).toEqual(
      [],
    )
    expect(Object.keys(schemas).filter((name) => !isDescribed(schemas[name] ?? {}))).toEqual([])
  })

  it('refers to existing components', () => {
    const names = PARTS.flatMap(({ schema }) => refName(schema) ?? [])
    expect(names.filter((name) => schemas[name] === undefined)).toEqual([])
  })
})

describe('every operation', () => {
  it('is described, with its parameters, each of which has an example', () => {
    const bare = OPERATIONS.filter(({ operation: { summary, description, requestBody } }) => {
      const isBody = requestBody === undefined || isDescribed(requestBody)
      return summary.length < 4 || description.length < 8 || !isBody
    })
    expect(places(bare)).toEqual([])
    const silent = PARAMETERS.filter(({ parameter }) => {
      const [media] = mediaOf('', parameter)
      const hasExample = parameter['example'] !== undefined || media?.examples.length === 1
      return !isDescribed(parameter) || !hasExample
    })
    expect(places(silent)).toEqual([])
  })

  it('has a curl command, with credentials where authentication is required', () => {
    const found = OPERATIONS.filter(({ path, operation }) => {
      const [sample] = operation['x-codeSamples']
      const { source = '' } = sample ?? {}
      const isOpen = operation.security?.length === 0
      const hasCredentials = /Authorization: Bearer \$TOKEN|-[bc] cookies|-u "crm:/.test(source)
      return !source.startsWith('curl -s') || !source.includes(path) || !(isOpen || hasCredentials)
    })
    expect(places(found)).toEqual([])
  })

  it('has an answer for each status with schema and examples, refusals too', () => {
    const found = OPERATIONS.flatMap(({ at, operation }) =>
      Object.entries(operation.responses).flatMap(([status, given]) => {
        const response = resolved(DOCUMENT, given)
        const media = mediaOf(`${at} ${status}`, response)
        const isWhole = media.length > 0 && media.every(({ examples }) => examples.length > 0)
        return isWhole && isDescribed(response ?? {}) ? [] : [`${at} ${status}`]
      }),
    )
    expect(found).toEqual([])
    const statuses = OPERATIONS.map(({ operation }) => Object.keys(operation.responses).length)
    expect(Math.min(...statuses)).toBeGreaterThan(1)
  })

  it('with a body has an example of it', () => {
    const found = OPERATIONS.filter(({ operation: { requestBody } }) =>
      mediaOf('', requestBody).some(({ examples }) => examples.length === 0),
    )
    expect(places(found)).toEqual([])
  })
})

/** Whether a list or an object conforms; a date is a text, or seconds, in forms. */
function mayBeCompound(schema: Schema): boolean {
  const { type, anyOf } = schema
  const name = refName(schema)
  if (name === 'dateGiven') return false
  if (name !== null) return mayBeCompound(schemas[name] ?? {})
  if (Array.isArray(anyOf)) return anyOf.some(mayBeCompound)
  return ['array', 'object'].some((compound) => [type].flat().includes(compound))
}

it('a parameter, or a field of a form, is JSON text if it may be a list or an object', () => {
  const inAddress = PARAMETERS.map(({ at, parameter }) => {
    const [media] = mediaOf(at, parameter)
    return { at, schema: media?.schema ?? (parameter['schema'] as Schema), isJson: !!media }
  })
  const inForms = OPERATIONS.flatMap(({ at, operation }) =>
    Object.entries((operation.requestBody?.['content'] ?? {}) as Record<string, Schema>)
      .filter(([type]) => type === 'application/x-www-form-urlencoded')
      .flatMap(([, { schema, encoding = {} }]) =>
        Object.entries((schema as { properties: Record<string, Schema> }).properties).map(
          ([name, part]) => ({
            at: `${at} ${name}`,
            schema: part,
            isJson: name in Object(encoding),
          }),
        ),
      ),
  )
  const all = [...inAddress, ...inForms]
  expect(places(all.filter(({ schema, isJson }) => mayBeCompound(schema) !== isJson))).toEqual([])
  expect(new Set(all.map(({ isJson }) => isJson)).size).toBe(2)
})

describe('answers that are sent', () => {
  const problems = (at: string, status: number, contentType: string, body: unknown) => {
    const [method = '', path = ''] = at.split(' ')
    return check.problems({ method: method as 'GET', path, status, contentType, body })
  }
  const json = 'application/json'

  it('before the operation is looked up are documented', () => {
    const found = OPERATIONS.flatMap(({ at }) =>
      [400, 403, 408, 413, 414, 429, 431, 503].flatMap((status) =>
        (problems(at, status, json, errorBody(status, 'why')) ?? []).map((why) => `${at} ${why}`),
      ),
    )
    expect(found).toEqual([])
    const wait = { ...errorBody(429, 'wait'), details: false }
    expect(problems('GET /docs', 429, json, wait)).toEqual([])
  })

  it.each([
    ['GET /api', 'text/plain', 'SUCCESS'],
    ['GET /api/report/files/{id}', 'application/x-ndjson', '{}\n'],
    ['GET /api/report/files/{id}', json, new ActionError('the report failed', 'refused').body()],
    [
      'POST /paymentgateways/sandbox/{reference}',
      json,
      new EntityRuleError('no object', 'refused').body(),
    ],
    ['POST /admin/save', json, new TargetError('there is no revision').body()],
  ] as const)('by %s as %s are documented', (at, type, body) => {
    expect(problems(at, 200, type, body)).toEqual([])
  })

  it('have no formats: stored values may be older than a rule', () => {
    const formats = PARTS.filter(({ at, schema }) => {
      return /^\w+\.(entity|written)\./.test(at) && schema['format'] !== undefined
    })
    expect(places(formats)).toEqual([])
  })
})

it('If-Match is described by the rule that refuses it', () => {
  const { parameter = {} } = PARAMETERS.find(({ at }) => at.endsWith(' If-Match')) ?? {}
  const schema = parameter['schema'] as Schema
  for (const tag of ['*', '"65f0c0ffee0123456789ffff.1" , "65f0c0ffee0123456789ffff.2"']) {
    expect(check.mismatches(schema, tag)).toEqual([])
    expect(ifMatchOf(tag)).not.toBeNull()
  }
  for (const tag of ['', 'x', 'W/"65f0c0ffee0123456789ffff.1"', '"65f0c0ffee0123456789ffff.1",']) {
    expect(check.mismatches(schema, tag), tag).not.toEqual([])
    expect(() => ifMatchOf(tag), tag).toThrow('If-Match must be')
  }
})

describe('every example', () => {
  it('conforms to its schema', () => {
    const found = MEDIA.flatMap(({ at, schema, examples }) =>
      examples.flatMap((example) =>
        check.mismatches(schema, example).map((why) => `${at}: ${why}`),
      ),
    )
    expect(found).toEqual([])
  })

  it('of a parameter conforms to its schema', () => {
    const found = PARAMETERS.flatMap(({ at, parameter: { schema, example } }) =>
      schema === undefined
        ? []
        : check.mismatches(schema as Schema, example).map((why) => `${at}: ${why}`),
    )
    expect(found).toEqual([])
  })
})
