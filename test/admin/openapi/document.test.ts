import { describe, expect, it } from 'vitest'
import { ENDPOINTS } from '../../../src/admin/endpoints.ts'
import { openApiDocument } from '../../../src/admin/openapi/document.ts'
import { templateOf } from '../../../src/admin/openapi/endpoint-paths.ts'
import { CREATED } from '../../../src/admin/openapi/examples.ts'
import type { EntityCollection } from '../../../src/catalog/entities/entity-table.ts'
import { DEFINITIONS } from '../../../src/entities/definitions/collections.ts'
import { actionsOf } from '../../../src/entities/definitions/params.ts'
import { checkCustomFields } from '../../../src/entities/fields/check.ts'
import { DEFAULT_FIELDS } from '../../../src/entities/fields/defaults.ts'
import type { FieldDefinition } from '../../../src/entities/fields/field-definition.ts'
import { ACTION_ENDPOINTS } from '../../support/admin/permissions/page.ts'
import { useStore } from '../../support/catalog/store.ts'
import { writeEntity } from '../../support/catalog/write.ts'

const store = useStore()

const FIELDS: ReadonlyMap<string, readonly FieldDefinition[]> = new Map(
  Object.entries(DEFAULT_FIELDS),
)
const OPTIONS = { version: '6.0', baseUrl: 'http://127.0.0.1:8182' } as const
const document = openApiDocument(DEFINITIONS, { fields: FIELDS, ...OPTIONS })

interface Visited {
  path: string
  value: Record<string, unknown>
}

function* objectsIn(value: unknown, path = '#'): Generator<Visited> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield { path, value: value as Record<string, unknown> }
  for (const [key, part] of Object.entries(value)) yield* objectsIn(part, `${path}/${key}`)
}

function at(pointer: string): unknown {
  let value: unknown = document
  for (const step of pointer.slice(2).split('/')) value = (value as Record<string, unknown>)[step]
  return value
}

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  [item.get, item.post].flatMap((operation) =>
    operation === undefined ? [] : [{ path, operation }],
  ),
)

describe('the OpenAPI document', () => {
  it('has every action of every collection, reads by GET too', () => {
    const served = [...Object.values(ENDPOINTS).flat(), ...ACTION_ENDPOINTS]
    const expected = [...DEFINITIONS.values()].flatMap((definition) =>
      actionsOf(definition).map((action) => `/billapi/${definition.name}/${action}`),
    )
    expect(Object.keys(document.paths).sort()).toEqual(
      [...new Set([...served.map(({ path }) => templateOf(path)), ...expected])].sort(),
    )
    for (const { method, path, access } of served) {
      const item = document.paths[templateOf(path)]
      const operation = method === 'GET' ? item?.get : item?.post
      expect(operation?.security).toEqual(access === 'public' ? [] : undefined)
    }
    for (const path of expected) {
      const isRead = /\/(get|uniqueget|export)$/.test(path)
      expect(Object.keys(document.paths[path] ?? {})).toEqual(isRead ? ['get', 'post'] : ['post'])
    }
  })

  it('has no dangling reference and no unused component', () => {
    const refs = [...objectsIn(document)].flatMap(({ value }) => value['$ref'] ?? [])
    for (const ref of refs) expect(at(String(ref))).toBeDefined()
    const names = new Set(refs)
    const { securitySchemes, ...referred } = document.components
    const demanded = document.security.flatMap((each) => Object.keys(each))
    expect(demanded).toEqual(Object.keys(securitySchemes))
    for (const [kind, parts] of Object.entries(referred)) {
      for (const name of Object.keys(parts)) expect(names).toContain(`#/components/${kind}/${name}`)
    }
  })

  it('is valid OpenAPI 3.1', () => {
    expect(document.openapi).toBe('3.1.0')
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    const tags = new Set(document.tags.map(({ name }) => name))
    for (const { operation } of operations) {
      for (const tag of operation.tags) expect(tags).toContain(tag)
      expect(Object.keys(operation.responses).every((status) => /^\d{3}$/.test(status))).toBe(true)
      for (const response of Object.values(operation.responses)) {
        expect(response['$ref'] ?? response['description']).toEqual(expect.any(String))
      }
      for (const parameter of operation.parameters ?? []) {
        expect(['query', 'header', 'path']).toContain(parameter['in'])
        expect([parameter['schema'], parameter['content']].filter(Boolean)).toHaveLength(1)
      }
    }
    for (const name of Object.keys(document.components.schemas)) expect(name).toMatch(/^[\w.-]+$/)
    expect(JSON.parse(JSON.stringify(document))).toEqual(document)
  })

  it('has schemas that are valid JSON Schema', () => {
    const types = ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null']
    const visited = Object.values(document.components.schemas).flatMap((schema) => [
      ...objectsIn(schema),
    ])
    for (const { path, value } of visited) {
      if (path.endsWith('/properties') || path.includes('/examples/')) continue
      const { type, required, properties } = value
      if (type !== undefined && typeof type !== 'object') expect(types).toContain(type)
      if (Array.isArray(required)) {
        for (const name of required) expect(properties).toHaveProperty([name])
      }
    }
  })

  it('has declared and configured fields, with their constraints', () => {
    const schema = document.components.schemas['subscribers.create.update']
    expect(schema?.['required']).toEqual(
      expect.arrayContaining(['aid', 'plan', 'firstname', 'lastname', 'address']),
    )
    expect(schema?.['properties']).toMatchObject({
      imsi: { type: 'array', items: { type: 'string' } },
      credit_limit: { $ref: '#/components/schemas/amount' },
    })
    const query = document.components.schemas['subscribers.get.query']
    expect(query?.['properties']).toHaveProperty('msisdn')
    expect(query?.['additionalProperties']).toBe(false)
    const user = document.components.schemas['users.entity']
    expect(user?.['properties']).not.toHaveProperty('password')
  })

  it('describes files, operations, the key of an operation and its roles', () => {
    const rates = document.paths['/billapi/rates/import']?.post?.requestBody
    expect(rates).toMatchObject({
      content: {
        'multipart/form-data': {
          schema: { properties: { operation: { enum: ['create', 'permanentchange'] } } },
        },
      },
    })
    const { post } = document.paths['/billapi/balances/update'] ?? {}
    expect(post?.parameters?.[0]).toMatchObject({ name: 'Idempotency-Key', in: 'header' })
    expect(post?.description).toContain('Needs one of the roles write, admin.')
  })
})

describe('an example', () => {
  const creating = [...DEFINITIONS.values()].filter(({ actions }) => actions.create !== undefined)

  it('exists for every create, with declared and configured fields', () => {
    expect(Object.keys(CREATED).sort()).toEqual(creating.map(({ name }) => name).sort())
    for (const { name, actions } of creating) {
      const declared = Object.keys(actions.create?.update ?? {})
      const configured = (FIELDS.get(name) ?? []).map(({ field_name }) => field_name)
      const known = new Set([...declared, ...configured])
      const example = CREATED[name] ?? {}
      expect(Object.keys(example).filter((field) => !known.has(field))).toEqual([])
      const demanded = declared.filter((field) => actions.create?.update[field]?.mandatory)
      for (const field of demanded) expect(example).toHaveProperty(field)
    }
  })

  it('can be stored, in the order of the document', async () => {
    const catalog = await store.open()
    const write = { mode: 'insert', timeZone: 'UTC' } as const
    for (const [name, example] of Object.entries(CREATED)) {
      const definition = DEFINITIONS.get(name)
      if (definition === undefined) throw new Error(name)
      const made = name === 'accounts' ? { aid: 1 } : name === 'subscribers' ? { sid: 2 } : {}
      const options = { definition, action: 'create', timeZone: 'UTC', nowMs: 0 } as const
      const configured = checkCustomFields(FIELDS.get(name) ?? [], example, options)
      const document = {
        from: '2026-01-01',
        ...definition.fixed,
        ...example,
        ...configured,
        ...made,
      }
      await writeEntity(catalog, definition.store as EntityCollection, document, write)
    }
    expect(await catalog.subscribers.countDocuments()).toBe(2)
  })
})
