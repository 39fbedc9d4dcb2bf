import { describe, expect, it } from 'vitest'
import {
  DEFINITIONS,
  dottedParam,
  IMPORT_OPERATIONS,
} from '../../../src/entities/definitions/collections.ts'
import { ACTIONS } from '../../../src/entities/definitions/definition.ts'
import { actionsOf } from '../../../src/entities/definitions/params.ts'

const LIFE = 'get uniqueget create update close closeandnew reopen delete move permanentchange'

const TABLE: Record<string, string> = {
  accounts:
    'get uniqueget create update close closeandnew reopen delete permanentchange import erase',
  subscribers: `${LIFE} import erase`,
  plans: `${LIFE} import`,
  services: `${LIFE} import`,
  rates: `${LIFE} import export`,
  balances: 'get uniqueget update delete',
  bills: 'get uniqueget update delete',
  lines: 'get uniqueget delete',
  charges: 'get uniqueget create update close closeandnew delete move export',
  discounts:
    'get uniqueget create update close closeandnew delete move permanentchange import export',
  prepaidincludes: LIFE,
  prepaidgroups: LIFE,
  taxes: LIFE,
  reports: 'get create update delete',
  users: 'get create update delete',
  autorenew: 'get create update delete',
  audit: 'get',
  jobs: 'get',
  events: 'get uniqueget resend',
}

const all = [...DEFINITIONS.values()]
const named = all.flatMap((definition) =>
  actionsOf(definition).map((name) => {
    const action = definition.actions[name]
    if (action === undefined) throw new Error(name)
    return { definition, name, action, title: `${definition.name}/${name}` }
  }),
)

const definitionOf = (name: string) => {
  const definition = DEFINITIONS.get(name)
  if (definition === undefined) throw new Error(name)
  return definition
}

describe('the collections', () => {
  it('are those of the entity API, and jobs, with their actions', () => {
    const actions = all.map((definition) => [definition.name, actionsOf(definition).join(' ')])
    expect(Object.fromEntries(actions)).toEqual(TABLE)
    expect([...DEFINITIONS.keys()]).toEqual(all.map(({ name }) => name))
  })

  it('have an import if rows can be converted to their entities', () => {
    const importing = all.filter(({ actions }) => actions.import !== undefined)
    expect([...IMPORT_OPERATIONS.keys()]).toEqual(importing.map(({ name }) => name))
    for (const [name, operations] of IMPORT_OPERATIONS) {
      for (const each of operations) expect(definitionOf(name).actions[each]).toBeDefined()
    }
  })

  it('never return password fields of a user', () => {
    expect(definitionOf('users').hidden).toEqual(['password', 'password_generated'])
  })
})

describe('an action', () => {
  const READS = ['get', 'uniqueget', 'export']

  it.each(named)('$title has roles that fit its effect', ({ definition, name, action }) => {
    const roles = action.roles
    const isRead = READS.includes(name)
    // The audit and jobs of erasure are restricted to administrators.
    const isOpen = isRead && !['audit', 'jobs'].includes(definition.name)
    expect(roles.includes('read')).toBe(isOpen)
    if (!isOpen) expect(roles.includes('write') || roles.includes('admin')).toBe(true)
  })

  it.each(named)('$title has its mandatory address parameters', ({ definition, name, action }) => {
    if (action.target !== 'none') expect(action.query['_id']?.type).toBe('dbid')
    if (action.target === 'id') expect(action.query).not.toHaveProperty('effective_date')
    if (action.target === 'unique') {
      expect(action.query).toMatchObject({ effective_date: { type: 'datetime' } })
      for (const field of definition.duplicate.fields) expect(action.query).toHaveProperty(field)
    }
    if (name === 'permanentchange') expect(action.update['from']?.mandatory).toBe(true)
    if (name === 'close') expect(action.query['_id']?.mandatory).toBe(true)
  })

  it.each(named)('$title requires fields on create only', ({ name, action }) => {
    const demanded = Object.entries(action.update).filter(([, param]) => param.mandatory)
    if (name === 'create') return
    const dates = name === 'permanentchange' || name === 'reopen' ? ['from'] : []
    expect(demanded.map(([field]) => field)).toEqual(dates)
  })

  it.each(named)('$title accepts configured fields only if the collection has some', (each) => {
    if (each.definition.configuredFieldsPath === null) expect(each.action.customFields).toBe(false)
    const never = ['close', 'move', 'delete', 'import', 'export']
    if (never.includes(each.name)) expect(each.action.customFields).toBe(false)
  })

  it.each(named)('$title has integers as numbers of accounts and subscribers', ({ action }) => {
    for (const field of ['aid', 'sid']) {
      const param = action.query[field]
      if (param === undefined) continue
      const isInteger =
        param.type === 'integer' || (param.type === 'array' && param.of === 'integer')
      expect(isInteger).toBe(true)
    }
  })

  it('has a known name', () => {
    for (const { definition } of named) {
      for (const name of Object.keys(definition.actions)) expect(ACTIONS).toContain(name)
    }
  })
})

describe('known defects of existing clients are avoided:', () => {
  const update = (name: string, action: 'update' | 'permanentchange') =>
    Object.keys(definitionOf(name).actions[action]?.update ?? {})

  it('taxes, prepaid includes and groups can be changed from a date on', () => {
    expect(update('taxes', 'permanentchange')).toEqual(
      expect.arrayContaining(['from', 'description', 'rate', 'embed_tax']),
    )
    for (const name of ['prepaidincludes', 'prepaidgroups']) {
      const changed = update(name, 'permanentchange')
      const key = name === 'prepaidincludes' ? ['name', 'external_id'] : ['name']
      const expected = update(name, 'update').filter((field) => !key.includes(field))
      expect(changed).toEqual(['from', ...expected])
    }
  })

  it('an import of discounts is a write', () => {
    expect(definitionOf('discounts').actions.import?.roles).toEqual(['write'])
  })

  it('the account of a subscriber is only changed by some actions', () => {
    const { actions } = definitionOf('subscribers')
    const changing = actionsOf(definitionOf('subscribers')).filter(
      (action) => actions[action]?.update['aid'] !== undefined,
    )
    expect(changing).toEqual(['create', 'update', 'closeandnew', 'permanentchange'])
  })
})

describe('dottedParam', () => {
  it.each([
    ['plans', 'update', 'update', 'rates.CALL_USA', true],
    ['services', 'permanentchange', 'update', 'rates.CALL_USA', true],
    ['plans', 'update', 'update', 'rates.call', false],
    ['plans', 'update', 'update', 'rates.CALL.sms', false],
    ['plans', 'create', 'update', 'rates.CALL', false],
    ['plans', 'update', 'update', 'include.groups.DATA', false],
    ['rates', 'update', 'update', 'rates.CALL', false],
    ['rates', 'uniqueget', 'query', 'rates.call', true],
    ['rates', 'get', 'query', 'rates.call', false],
    ['plans', 'uniqueget', 'query', 'rates.call', false],
  ] as const)('%s/%s: %s.%s is declared: %s', (collection, action, part, name, isKnown) => {
    expect(dottedParam(collection, action, part, name) !== null).toBe(isKnown)
  })
})
