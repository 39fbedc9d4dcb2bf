/** Executes the steps of cases. */
import { type Collection, type Document, MongoClient } from 'mongodb'
import { expect } from 'vitest'
import { changeStoredConfig } from '../../../../../src/catalog/settings/stored-config.ts'
import { insertEntity } from '../../../catalog/store.ts'
import type { ActionAnswer, ActionServer, AskOptions, Fields } from '../action-server.ts'
import type { Case, Group, Step } from './case-file.ts'
import { filled, requireMatch, type Variables } from './tags.ts'

export type CaseServer = Pick<ActionServer, 'ask' | 'at' | 'catalog' | 'ledger' | 'mongo' | 'now'>

export interface World {
  readonly server: CaseServer
  readonly variables: Variables
}

/** Runs a step; its arguments follow the verb. */
export type Verb = (world: World, ...args: never[]) => Promise<unknown> | unknown

const VERBS: Readonly<Record<string, Verb>> = {
  /** Sets the clock, or moves it by milliseconds. */
  clock({ server }, to: string | number) {
    server.at(typeof to === 'number' ? server.now() + to : Date.parse(to))
  },
  async insert({ server }, name: string, documents: Fields | Fields[]) {
    const all: Document[] = [documents].flat()
    if (all.length > 0) await stored(server, name).insertMany(all)
  },
  entity: ({ server }, name: Parameters<typeof insertEntity>[1], fields: Fields) =>
    insertEntity(server.catalog(), name, fields),
  set: ({ server }, name: string, filter: Fields, fields: Fields) =>
    stored(server, name).updateMany(filter, { $set: fields }),
  async clear({ server }, ...names: string[]) {
    for (const name of names) await stored(server, name).deleteMany({})
  },
  setting: ({ server }, category: Parameters<typeof changeStoredConfig>[1], value: unknown) =>
    changeStoredConfig(server.catalog(), category, () => value, {
      nowMs: server.now(),
      by: 'test',
    }),
  /** Documents of a collection, or only their number. */
  async stored({ server }, name: string, filter: Fields, expected: unknown, sort = {}) {
    const found = await stored(server, name).find(filter).sort(sort).toArray()
    const where = `${name} ${JSON.stringify(filter)}`
    if (typeof expected === 'number') expect(found.length, where).toBe(expected)
    else requireMatch({ found: shown(found) }, { found: expected }, where)
  },
  /** Keeps the number of documents for `unchanged`. */
  async remember({ server, variables }, name: string) {
    variables.set(`number of ${name}`, await stored(server, name).countDocuments())
  },
  async unchanged({ server, variables }, name: string) {
    const count = await stored(server, name).countDocuments()
    expect(count, name).toBe(variables.get(`number of ${name}`))
  },
  /** No document of a collection contains a text, in any case. */
  async nowhereIn({ server }, name: string, text: string) {
    const found = await stored(server, name).find().toArray()
    expect(JSON.stringify(found).toLowerCase(), name).not.toContain(text)
  },
  /** Calls at the same time, of which some succeed. */
  async atOnce({ server }, calls: number, name: string, params: Fields, succeeding: number) {
    const asks = Array.from({ length: calls }, () => server.ask(name, params))
    const done = (await Promise.all(asks)).filter(({ status }) => status === 1)
    expect(done, name).toHaveLength(succeeding)
  },
  /** No document of the database contains a text. */
  async nowhere({ server }, text: string) {
    const { url, database } = server.mongo()
    const client = await MongoClient.connect(url)
    try {
      const collections = await client.db(database).collections()
      expect(collections.length).toBeGreaterThan(10)
      const found = await Promise.all(collections.map((each) => each.find().toArray()))
      expect(JSON.stringify(found)).not.toContain(text)
    } finally {
      await client.close()
    }
  },
}

export async function runCase(
  { steps, row }: Case,
  group: Group,
  { server, variables }: World,
  own: Readonly<Record<string, Verb>>,
): Promise<void> {
  for (const [index, value] of row.entries()) {
    variables.set(String(index + 1), value)
  }
  const world = { server, variables }
  for (const step of steps) await runStep(step, group, world, own)
}

async function runStep(
  [called, ...written]: Step,
  group: Group,
  world: World,
  own: Readonly<Record<string, Verb>>,
): Promise<void> {
  const { server, variables } = world
  const name = String(filled(called, variables))
  const args = written.map((each) => filled(each, variables))
  const verb = own[name] ?? VERBS[name]
  if (verb !== undefined) {
    await verb(world, ...(args as never[]))
    return
  }
  const [params = {}, expected = {}, how = {}] = args
  const defaults = filled({ ...group.with[name] }, variables) as Fields
  const sent = withoutUndefined({ ...defaults, ...(params as Fields) })
  const options = { ...group.how[name], ...(how as AskOptions) }
  const where = `${name} ${JSON.stringify(sent).slice(0, 500)}`
  const kept = isRefusal(expected) ? group.keeps : []
  const before = await documentsOf(server, kept)
  const answer = await server.ask(name, sent, options)
  requireAnswer(answer, expected, filled(group.refusal, variables) as Fields, where)
  expect(await documentsOf(server, kept), where).toEqual(before)
}

/** A text, or an expectation of it: the call is refused with it. An object: the call succeeds. */
function isRefusal(expected: unknown): boolean {
  return typeof expected === 'string' || 'asymmetricMatch' in Object(expected)
}

function documentsOf(server: CaseServer, names: readonly string[]): Promise<Document[][]> {
  return Promise.all(names.map((name) => stored(server, name).find().toArray()))
}

function requireAnswer(answer: ActionAnswer, expected: unknown, refusal: Fields, where: string) {
  const { headers, ...members } = answer
  const actual = { ...members, headers: Object.fromEntries(headers) }
  const text = answer.text.slice(0, 2000)
  const expectation = isRefusal(expected)
    ? { http: 200, status: 0, desc: expected, message: expected, ...refusal }
    : { http: 200, status: 1, ...(expected as Fields) }
  requireMatch(actual, expectation, `${where}: ${text}`)
}

function withoutUndefined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** A collection as the database has it. */
export function stored(server: CaseServer, name: string) {
  const collection = server.catalog()[name as 'lines']
  if (collection === undefined) throw new Error(`there is no collection ${name}`)
  return collection as unknown as Collection<Document>
}

/** Documents as case files write them: dates and ids are texts, amounts are numbers. */
export function shown(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(shown)
  if (typeof value !== 'object' || value === null) return value
  if ('_bsontype' in value) {
    return value._bsontype === 'ObjectId' ? String(value) : Number(String(value))
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shown(each)]))
}
