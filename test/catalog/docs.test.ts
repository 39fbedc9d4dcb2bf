/** The documents of docs/CATALOGUE.md can be written, or are refused for the stated reason. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { compileTerms } from '../../src/catalog/compile/discount.ts'
import { type RawDocument, revisionOf, STRICT } from '../../src/catalog/compile/document.ts'
import { compilePlan, compileService } from '../../src/catalog/compile/offer.ts'
import { compilePrepaidInclude } from '../../src/catalog/compile/prepaid-include.ts'
import { compileAccount, compileSubscriber } from '../../src/catalog/compile/profile.ts'
import { compileRate } from '../../src/catalog/compile/rate.ts'
import { compileTax } from '../../src/catalog/compile/tax.ts'
import { withDates } from '../../src/catalog/dates.ts'
import { ENTITIES, type EntityCollection } from '../../src/catalog/entities/entity-table.ts'
import { PrepaidGroupEntity } from '../../src/catalog/entities/prepaid-group.ts'
import { SubscriberEntity } from '../../src/catalog/entities/subscriber.ts'
import { refusal, stored } from '../support/catalog/compile/stored.ts'

type Fields = Record<string, unknown>

const COMPILERS: Readonly<Record<string, (document: RawDocument) => unknown>> = {
  rates: (document) => compileRate(document, STRICT),
  plans: (document) => compilePlan(document, STRICT),
  services: (document) => compileService(document, STRICT),
  prepaidincludes: compilePrepaidInclude,
  prepaidgroups(document) {
    PrepaidGroupEntity.check(document)
    return revisionOf(document as RawDocument & { from: Date; to: Date })
  },
  taxes: compileTax,
  discounts: (document) => compileTerms('discount', document, 'UTC'),
  charges: (document) => compileTerms('conditional_charge', document, 'UTC'),
  subscribers: (document) =>
    document['type'] === 'account'
      ? compileAccount(document, STRICT)
      : compileSubscriber(document, STRICT),
}

/** Required fields of a document, added to the field that is refused. */
const REQUIRED_FIELDS: Readonly<Record<string, Fields>> = {
  rates: { key: 'R' },
  plans: { name: 'P', connection_type: 'prepaid' },
  services: { name: 'S' },
  discounts: { key: 'D' },
  subscribers: { type: 'subscriber', aid: 1, sid: 1, plan: 'P' },
}

const text = readFileSync(new URL('../../docs/CATALOGUE.md', import.meta.url), 'utf8')

function blocks(kind: string): [collection: string, content: Fields][] {
  const found = text.matchAll(new RegExp(`^\`\`\`json ${kind}=(\\S+)\n([\\s\\S]*?)\n\`\`\`$`, 'gm'))
  return [...found].map(([, collection = '', content = '']) => [collection, JSON.parse(content)])
}

function compile(collection: string, document: Fields): unknown {
  const dated = withDates(document, SubscriberEntity.dates, 'UTC')
  return COMPILERS[collection]?.(stored(dated))
}

const TABLES: readonly [heading: string, ...collections: EntityCollection[]][] = [
  ['Rates', 'rates'],
  ['Plans and services', 'plans', 'services'],
  ['Prepaid includes', 'prepaidincludes'],
  ['Taxes', 'taxes'],
  ['Discounts and charges', 'discounts', 'charges'],
  ['Subscribers and accounts', 'subscribers'],
]

it.each(TABLES)('the table of %s has fields of the schema', (heading, ...collections) => {
  const [, section = ''] = text.split(`\n## ${heading}\n`)
  const [, rows = ''] = /\| field \|.*\n\|[-|]+\n((?:\|.*\n)+)/.exec(section) ?? []
  const cells = rows.split('\n').map((row) => row.split('|')[1] ?? '')
  const names = cells.flatMap((cell) =>
    [...cell.matchAll(/`(\w+)[\w.]*`/g)].map(([, name]) => name),
  )
  const schemas = collections.flatMap((name) => ENTITIES[name].map(({ schema }) => schema))
  const known = schemas.flatMap(({ properties }) => Object.keys(properties))
  expect(names.length).toBeGreaterThan(3)
  expect(known).toEqual(expect.arrayContaining(names))
})

it('docs/CATALOGUE.md has an example of every collection', () => {
  const shown = new Set(blocks('entity').map(([collection]) => collection))
  expect(shown).toEqual(new Set(Object.keys(COMPILERS)))
})

it.each(blocks('entity'))(
  'the documented example can be written: %s %j',
  (collection, document) => {
    expect(document['from']).toBeDefined()
    expect(compile(collection, document)).toMatchObject({ fromMs: Date.UTC(2026, 0, 1) })
  },
)

it.each(blocks('refused'))(
  'the documented example is refused: %s %j',
  (collection, { document, why }) => {
    const whole = { ...REQUIRED_FIELDS[collection], ...(document as Fields) }
    expect(refusal(() => compile(collection, whole))).toBe(why)
  },
)
