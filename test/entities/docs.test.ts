/**
 * docs/ENTITY-API.md: its examples are sent in their order to an empty installation. Ids differ
 * there, but stay consistent throughout; times of changes, which are the dates with a fraction of a
 * second, may have any value. Its curl commands run after all others, in a folder with its files.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Admin } from '../../src/admin/start.ts'
import { DEFINITIONS } from '../../src/entities/definitions/collections.ts'
import { QUICK_RECORDER, startTestAdmin } from '../support/admin/test-admin.ts'
import { startTestStores, type TestStores } from '../support/recorder/accounts.ts'

const text = readFileSync(new URL('../../docs/ENTITY-API.md', import.meta.url), 'utf8')

interface Example {
  call: string
  /** Id of the operation. */
  key: string | undefined
  body: string
  answer: unknown
}

interface Refusal {
  call: string
  key?: string
  body: unknown
  code: number
  display?: number
  /** In slashes: a regular expression. */
  text: string
}

const EXAMPLE =
  /```json call=(\S+)(?: key=(\S+))?\n([\s\S]*?)\n```\n```json answer\n([\s\S]*?)\n```/g

function examples(): Example[] {
  return [...text.matchAll(EXAMPLE)].map(([, call = '', key, body = '', answer = '']) => {
    return { call, key, body, answer: JSON.parse(answer) as unknown }
  })
}

function refusals(): Refusal[] {
  const [, list = ''] = /```json refusals\n([\s\S]*?)\n```/.exec(text) ?? []
  return JSON.parse(list) as Refusal[]
}

const folder = mkdtempSync(join(tmpdir(), 'tg-entity-docs-'))
let stores: TestStores
let admin: Admin

beforeAll(async () => {
  stores = await startTestStores()
  admin = await startTestAdmin(stores, QUICK_RECORDER)
})
afterAll(async () => {
  await admin.close(500)
  await stores.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Ids of the page, mapped to the ids of this run. */
const ids = new Map<string, string>()
const OBJECT_ID = /65f0c0ffee01234[0-9a-f]{9}/g
const VERSION = /^(65f0c0ffee01234[0-9a-f]{9})\.\d+$/

async function send(call: string, body: string, key: string | undefined) {
  const response = await fetch(`http://127.0.0.1:${admin.port}/billapi/${call}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(key && { 'Idempotency-Key': key }) },
    body: body.replaceAll(OBJECT_ID, (id) => ids.get(id) ?? id),
  })
  return (await response.json()) as unknown
}

/** The answer of the page, with the ids and times of the actual answer. */
function expectedHere(documented: unknown, actual: unknown): unknown {
  if (Array.isArray(documented))
    return documented.map((one, at) => expectedHere(one, (actual as unknown[])?.[at]))
  const [version, ofId = ''] = VERSION.exec(String(documented)) ?? []
  if (version !== undefined) return expect.stringMatching(`^${ids.get(ofId)}\\.\\d+$`)
  if (typeof documented !== 'object' || documented === null) return documented
  const { $id: id, usec } = documented as { $id?: unknown; usec?: unknown }
  const fields = (actual ?? {}) as Record<string, unknown>
  if (typeof id === 'string' && id.search(OBJECT_ID) === 0) {
    if (!ids.has(id)) ids.set(id, String(fields['$id']))
    return { $id: ids.get(id) }
  }
  const isAnyDate = usec !== undefined && usec !== 0
  if (isAnyDate) return { sec: expect.any(Number), usec: expect.any(Number) }
  return Object.fromEntries(
    Object.entries(documented).map(([name, one]) => [name, expectedHere(one, fields[name])]),
  )
}

const isRead = (call: string) => /\/(?:get|uniqueget)$/.test(call)

describe('an example of docs/ENTITY-API.md', () => {
  it.each(examples())(
    '$call returns the documented answer',
    async ({ call, key, body, answer }) => {
      // Lines appear once they are recorded.
      if (isRead(call)) {
        const rows = (answer as { details: unknown[] }).details.length
        const read = async () => (await send(call, body, key)) as { details: unknown[] }
        await expect.poll(async () => (await read()).details.length).toBe(rows)
      }
      const actual = await send(call, body, key)
      expect(actual).toEqual(expectedHere(answer, actual))
      if (key !== undefined) expect(await send(call, body, key)).toEqual(actual)
    },
  )

  it.each(refusals())(
    '$call is refused: $text',
    async ({ call, key, body, code, ...documented }) => {
      const actual = (await send(call, JSON.stringify(body), key)) as {
        message?: string
        display?: { code: number }
        data?: { message: string }
      }
      expect(actual).toMatchObject({ status: 0, code })
      if (documented.display !== undefined) expect(actual.display?.code).toBe(documented.display)
      const [, source] = /^\/(.*)\/$/.exec(documented.text) ?? []
      const message = actual.data?.message ?? actual.message
      if (source === undefined) expect(message).toBe(documented.text)
      else expect(message).toMatch(new RegExp(source))
    },
  )

  it('exists, of all kinds', () => {
    expect(examples().length).toBeGreaterThan(12)
    expect(examples().length).toBe(text.split('```json call=').length - 1)
    expect(refusals().length).toBeGreaterThan(15)
  })
})

const FILE = /```(?:csv|json) file=(\S+)\n([\s\S]*?)```/g
const RUN = /```sh run\n([\s\S]*?)\n```\n```(csv|json) said\n([\s\S]*?)```/g

interface Run {
  line: string
  format: string
  expected: string
}

function runs(): Run[] {
  return [...text.matchAll(RUN)].map(([, line = '', format = '', expected = '']) => {
    return { line, format, expected }
  })
}

/** Output of a command of the page, in a folder that has its files. */
function output(line: string): Promise<string> {
  const asked = line.replaceAll('127.0.0.1:8182', `127.0.0.1:${admin.port}`)
  return new Promise((resolve, reject) => {
    execFile('bash', ['-c', asked], { cwd: folder }, (error, stdout, stderr) => {
      if (error !== null || stderr !== '') reject(error ?? new Error(stderr))
      else resolve(stdout)
    })
  })
}

describe('a command of docs/ENTITY-API.md', () => {
  it.each(runs())('$line', async ({ line, format, expected }) => {
    for (const [, name = '', content = ''] of text.matchAll(FILE)) {
      writeFileSync(join(folder, name), content)
    }
    const actual = await output(line)
    // Sent again, each of them returns the same.
    expect(await output(line)).toBe(actual)
    if (format === 'csv') {
      expect(actual).toBe(expected)
      return
    }
    const answer = JSON.parse(actual) as unknown
    expect(answer).toEqual(expectedHere(JSON.parse(expected), answer))
  })

  it('exists', () => {
    expect(runs().length).toBe(text.split('```sh run').length - 1)
    expect(runs().length).toBeGreaterThan(2)
  })
})

const RECORDS = ['balances', 'bills', 'lines']

/** Rows of the table of collections: names, and for each column whether the action exists. */
function rows(): [name: string, actions: string[]][] {
  const [, rest = ''] = text.split('\n## Collections\n')
  const [section = ''] = rest.split('\n## ')
  const [head = '', , ...lines] = section.split('\n').filter((line) => line.startsWith('|'))
  const cellsOf = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
  const [, ...columns] = cellsOf(head)
  return lines.flatMap((line) => {
    const [names = '', ...marks] = cellsOf(line)
    const actions = columns.flatMap((column, at) => {
      const mark = marks[at]
      if (mark === '') return []
      return mark === 'x' ? column.split(', ') : [String(mark).replaceAll('`', '')]
    })
    return names.split(', ').map((name): [string, string[]] => [name, actions])
  })
}

describe('the table of collections', () => {
  it('lists all of them', () => {
    expect(
      rows()
        .map(([name]) => name)
        .sort(),
    ).toEqual([...DEFINITIONS.keys()].sort())
    for (const name of RECORDS) expect(DEFINITIONS.get(name)?.hasMinimumDate).toBe(false)
  })

  it.each(rows())('%s: %j', (name, actions) => {
    const has = Object.keys(DEFINITIONS.get(name)?.actions ?? {})
    expect(has.sort()).toEqual([...actions].sort())
  })
})
