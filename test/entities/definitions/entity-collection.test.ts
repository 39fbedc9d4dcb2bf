/** The schema of an entity is the only list of its fields. */
import { Type } from '@sinclair/typebox'
import { describe, expect, it } from 'vitest'
import { openApiDocument } from '../../../src/admin/openapi/document.ts'
import { apiOf, configuredField, field } from '../../../src/catalog/entities/api.ts'
import { checkSchema, type EntityDefinition } from '../../../src/catalog/entities/entity.ts'
import { ENTITIES, type EntityCollection } from '../../../src/catalog/entities/entity-table.ts'
import { DEFINITIONS } from '../../../src/entities/definitions/collections.ts'
import { entityCollection } from '../../../src/entities/definitions/entity-collection.ts'
import { builtInFields, DEFAULT_FIELDS } from '../../../src/entities/fields/defaults.ts'
import { castUpdate } from '../../../src/entities/requests/cast.ts'
import { castQuery } from '../../../src/entities/requests/query-language.ts'

const OPTIONS = { version: '6.0', baseUrl: 'http://127.0.0.1:8182' } as const
const TIME = { timeZone: 'UTC', nowMs: 0 } as const

const entities = Object.entries(ENTITIES).flatMap(([store, list]) =>
  list.map((entity) => ({ store: store as EntityCollection, entity, name: entity.api.name })),
)

function documentOf(definition: ReturnType<typeof entityCollection>, fields = DEFAULT_FIELDS) {
  const { name } = definition
  const configured = new Map([[name, fields[name] ?? []]])
  return openApiDocument(new Map([[name, definition]]), { fields: configured, ...OPTIONS })
}

const propertiesOf = (document: ReturnType<typeof openApiDocument>, component: string) =>
  (document.components.schemas[component]?.['properties'] ?? {}) as Record<string, object>

describe.each(entities)('the fields of $name', ({ store, entity, name }) => {
  const fields = entity.schema.properties
  const definition = entityCollection(store, entity)
  const document = documentOf(definition)

  it('are those of its schema, in requests and as configured fields', () => {
    expect(DEFINITIONS.get(name)).toEqual(definition)
    const known = [...Object.keys(fields), '_id', 'effective_date']
    const parameters = Object.keys(entity.api.parameters ?? {})
    for (const [action, { query, update }] of Object.entries(definition.actions)) {
      expect([...known, ...parameters]).toEqual(expect.arrayContaining(Object.keys(query)))
      const hasSettings = action === 'import' || action === 'erase'
      if (!hasSettings) expect(known).toEqual(expect.arrayContaining(Object.keys(update)))
    }
    const builtIn = (DEFAULT_FIELDS[name] ?? []).map((each) => each.field_name)
    expect(known).toEqual(expect.arrayContaining(builtIn))
  })

  it('are in the OpenAPI document unless they are hidden, in requests if accepted', () => {
    const shown = propertiesOf(document, `${name}.entity`)
    const described = Object.entries(fields).filter(([, each]) => each.description !== undefined)
    expect(described.length).toBeGreaterThan(5)
    for (const [own, schema] of described) {
      const isHidden = apiOf(schema)?.hidden === true
      expect([own, Object.hasOwn(shown, own)]).toEqual([own, !isHidden])
    }
    const accepted = propertiesOf(document, `${name}.create.update`)
    for (const own of Object.keys(definition.actions.create?.update ?? {})) {
      if (apiOf(fields[own])?.type !== 'generated') expect(accepted).toHaveProperty([own])
    }
    const types = Object.keys(shown).filter((own) => !['_id', 'revision_info'].includes(own))
    expect(Object.keys(fields)).toEqual(expect.arrayContaining(types))
  })
})

/** The entity with two more fields: a declared one and a built-in configured one. */
function extended(entity: EntityDefinition): EntityDefinition {
  const loyalty = Type.Integer({ minimum: 1, maximum: 5, expected: 'an integer from 1 to 5' })
  const schema = Type.Object({
    ...entity.schema.properties,
    loyalty_level: field(Type.Optional(loyalty), 'Level in the loyalty programme.', {
      mandatory: true,
      query: ['get'],
    }),
    nickname: configuredField(Type.Optional(Type.String({ expected: 'a text' })), {
      type: 'text',
      title: 'Nickname',
      searchable: true,
    }),
  })
  return { ...entity, schema }
}

describe.each(entities)('two fields that the schema of $name adds', ({ store, entity, name }) => {
  const added = extended(entity)
  const definition = entityCollection(store, added)
  const { create, update } = definition.actions

  it('are cast in requests, and one is mandatory on create', () => {
    const params = { loyalty_level: create?.update['loyalty_level'] ?? { type: 'json' as const } }
    const cast = (value: unknown) => castUpdate(params, { loyalty_level: value }, TIME).fields
    expect(cast('3')).toEqual({ loyalty_level: 3 })
    expect(() => cast('x')).toThrow('update.loyalty_level must be an integer')
    expect(() => castUpdate(params, {}, TIME)).toThrow('loyalty_level')
    expect(update?.update['loyalty_level']).toEqual({ type: 'integer' })
  })

  it('filter in queries of the named actions only', () => {
    const { get, uniqueget } = definition.actions
    const filter = castQuery(get?.query ?? {}, { loyalty_level: '3' }, TIME)
    expect(filter).toEqual({ loyalty_level: { $in: [3] } })
    expect(uniqueget?.query ?? {}).not.toHaveProperty('loyalty_level')
  })

  it('are validated in stored documents', () => {
    const schema = Type.Partial(added.schema)
    const stored = (document: object) => () => checkSchema(schema, document)
    expect(stored({ loyalty_level: 5, nickname: 'Ada' })).not.toThrow()
    expect(stored({ loyalty_level: 6 })).toThrow('loyalty_level must be an integer from 1 to 5')
    expect(stored({ nickname: 7 })).toThrow('nickname must be a text')
  })

  it('are documented', () => {
    const builtIn = builtInFields(added)
    expect(builtIn.at(-1)).toEqual({
      field_name: 'nickname',
      type: 'text',
      system: true,
      title: 'Nickname',
      searchable: true,
    })
    const document = documentOf(definition, { [name]: builtIn })
    const level = { type: 'integer', description: 'Level in the loyalty programme.' }
    for (const component of ['entity', 'written', 'create.update', 'update.update']) {
      const { loyalty_level: shown } = propertiesOf(document, `${name}.${component}`)
      expect(shown).toEqual(level)
    }
    const required = document.components.schemas[`${name}.create.update`]?.['required']
    expect(required).toContain('loyalty_level')
    const isConfigurable = definition.configuredFieldsPath !== null
    const { nickname } = propertiesOf(document, `${name}.create.update`)
    expect(nickname !== undefined).toBe(isConfigurable)
  })
})
