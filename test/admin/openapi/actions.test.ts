/** Each action is described, with examples that conform to its own schema. */
import { describe, expect, it } from 'vitest'
import { pathsOf } from '../../../src/admin/actions/action.ts'
import { ACTIONS } from '../../../src/admin/actions/table.ts'
import { PAYMENT_ENDPOINTS } from '../../../src/admin/payments/routes.ts'
import type { Schema } from '../../../src/catalog/entities/json-schema.ts'
import { createAnswerCheck, DOCUMENT } from '../../support/admin/openapi/answer-check.ts'

const check = createAnswerCheck(DOCUMENT)

interface Media {
  readonly schema: Schema & { readonly anyOf?: readonly Schema[] }
  readonly example?: Record<string, unknown>
  readonly examples?: Record<string, { readonly value?: unknown }>
}
const mediaIn = (holder: Schema | undefined): Record<string, Media> =>
  (holder?.['content'] ?? {}) as Record<string, Media>

/** Members of each answer. */
const ENVELOPE = ['status', 'desc', 'input']
/** Steps of the check have results of their own; statistics are what clients have stored. */
const ANY_JSON = ['filetypecheck', 'statistics']
const PATHS = ACTIONS.flatMap((action) => pathsOf(action).map((path) => [path, action] as const))

describe.each(PATHS)('%s', (path, action) => {
  const { post, get } = DOCUMENT.paths[path] ?? {}

  it('has an example of its parameters, which are declared', () => {
    const media = mediaIn(post?.requestBody)
    expect(Object.keys(media)).toHaveLength(3)
    for (const { schema, example = {} } of Object.values(media)) {
      expect(Object.keys(example).length).toBeGreaterThan(0)
      expect(check.mismatches(schema, example)).toEqual([])
      const declared = Object.keys(schema['properties'] as object)
      expect(declared).toEqual(expect.arrayContaining(Object.keys(example)))
    }
    const names = (get?.parameters ?? []).map((parameter) => parameter['name'])
    if (action.isReadByGet) expect(names).toEqual(Object.keys(action.parameters.properties))
  })

  it('has an example of its answer, whose members are declared', () => {
    for (const operation of [post, get]) {
      if (operation === undefined) continue
      const { schema, examples = {} } = mediaIn(operation.responses['200'])['application/json'] ?? {
        schema: {},
      }
      const [own = {}] = schema.anyOf ?? []
      const done = examples['done']?.value as Record<string, unknown>
      expect(check.mismatches(own, done)).toEqual([])
      const declared = Object.keys(own['properties'] as object)
      expect(declared).toEqual(expect.arrayContaining(Object.keys(done)))
      const members = Object.keys(action.answer).filter((name) => !ENVELOPE.includes(name))
      if (members.length > 0) expect(Object.keys(done).length).toBeGreaterThan(3)
    }
  })

  it('says of its answer more than that it is JSON', () => {
    const isAnyJson = JSON.stringify(action.answer).includes('schemas/jsonValue')
    expect(isAnyJson).toBe(ANY_JSON.includes(action.name))
  })
})

it('each endpoint of payment gateways has examples of its requests and answers', () => {
  for (const { method, path } of PAYMENT_ENDPOINTS) {
    const item = DOCUMENT.paths[path.replace(/:(\w+)/g, '{$1}')]
    const operation = method === 'GET' ? item?.get : item?.post
    expect(operation, path).toBeDefined()
    const [answer] = Object.values(mediaIn(operation?.responses['200']))
    expect(answer?.examples?.['done']?.value, path).toBeDefined()
    for (const [, name] of path.matchAll(/:(\w+)/g)) {
      expect(operation?.parameters).toContainEqual(
        expect.objectContaining({ name, in: 'path', required: true }),
      )
    }
  }
})
