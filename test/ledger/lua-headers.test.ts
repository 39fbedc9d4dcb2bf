import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { REPLY } from '../../src/ledger/replies.ts'
import { scriptText } from '../../src/ledger/script.ts'
import { allScripts } from '../../src/ledger/scripts.ts'

const LUA = fileURLToPath(new URL('../../src/ledger/lua/', import.meta.url))
const LINES_MAX = 120
/** Scripts beyond the limit, with the reason. */
const LONGER: Record<string, string> = {
  commit: 'reading, deciding and writing an account are one atomic step',
}

const names = readdirSync(LUA)
  .filter((name) => name.endsWith('.lua'))
  .map((name) => name.slice(0, -'.lua'.length))
const includes = readdirSync(`${LUA}include`)

function source(name: string): string {
  return readFileSync(`${LUA}${name}.lua`, 'utf8')
}

/** The parts of the header comment by name. */
function headerOf(name: string): Map<string, string> {
  const lines = source(name).split('\n')
  const end = lines.findIndex((line) => !line.startsWith('--'))
  const parts = new Map<string, string>()
  let part = 'purpose'
  for (const line of lines.slice(0, end)) {
    const [, word, rest] = /^-- ([A-Z]{4,})\b(.*)$/.exec(line) ?? []
    if (word !== undefined && ['KEYS', 'ARGV', 'REPLY', 'EFFECTS'].includes(word)) part = word
    parts.set(part, `${parts.get(part) ?? ''} ${rest ?? line.slice(2)}`)
  }
  return parts
}

function bodyOf(text: string): string {
  return text.replaceAll(/--.*$/gm, '').replaceAll(/'[^']*'/g, "''")
}

function highestIndex(text: string, table: 'KEYS' | 'ARGV'): number {
  const found = [...text.matchAll(new RegExp(`\\b${table}\\[(\\d+)\\]`, 'g'))]
  return Math.max(0, ...found.map(([, index]) => Number(index)))
}

it('every script is declared, and no other', () => {
  expect(allScripts.map((script) => script.name).sort()).toEqual(names.sort())
})

describe.each(names)('%s.lua', (name) => {
  const header = headerOf(name)
  const body = bodyOf(scriptText(name))
  const script = allScripts.find((candidate) => candidate.name === name)

  it('begins with its contract', () => {
    for (const part of ['purpose', 'KEYS', 'ARGV', 'REPLY', 'EFFECTS']) {
      expect(header.get(part)?.trim(), part).toMatch(/\w/)
    }
  })

  it('names in its header the keys and arguments that its body reads by number', () => {
    for (const table of ['KEYS', 'ARGV'] as const) {
      const named = [...(header.get(table) ?? '').matchAll(/\[(\d+)\]/g)].map(([, n]) => Number(n))
      if (named.length === 0) continue
      expect(highestIndex(body, table), table).toBeLessThanOrEqual(Math.max(...named))
    }
  })

  it('is sent with the text of its file and the codes that it uses', () => {
    expect(script?.text).toBe(scriptText(name))
    const used = Object.keys(REPLY).filter((code) => new RegExp(`\\b${code}\\b`).test(source(name)))
    for (const code of used) expect(script?.text).toContain(`local ${code} = `)
  })

  it('uses no reply name that is not in the table, and no bare number as a reply', () => {
    const constants = new Set(body.match(/\b[A-Z][A-Z_]{3,}\b/g))
    const known = new Set([...Object.keys(REPLY), 'KEYS', 'ARGV'])
    for (const [, locals = ''] of body.matchAll(/local ([A-Z][A-Z_, ]+) =/g)) {
      for (const local of locals.split(', ')) known.add(local)
    }
    expect([...constants].filter((constant) => !known.has(constant))).toEqual([])
    const bare = body.replaceAll(/^local [A-Z]+ = \d+$/gm, '')
    expect(bare).not.toMatch(/return \{ *\d|replies\[[^\]]*\] = \{? *\d/)
  })

  it('lists in its header the reply names it returns', () => {
    const text = `${header.get('REPLY')} ${includes.join(' ')}`
    const given = Object.keys(REPLY).filter((code) => new RegExp(`\\b${code}\\b`).test(body))
    const mentioned = given.filter((code) => text.includes(code))
    expect(mentioned).toEqual(given.filter((code) => code !== 'undefined'))
  })

  it('takes time and randomness only from its arguments', () => {
    expect(source(name)).not.toMatch(/'TIME'|math\.random|os\.|RANDOMKEY|SRANDMEMBER/)
  })

  it('is short or listed with a reason', () => {
    const lines = source(name).split('\n').length
    if (LONGER[name] === undefined) expect(lines).toBeLessThanOrEqual(LINES_MAX)
    else expect(lines).toBeGreaterThan(LINES_MAX)
  })
})

describe('declared keys and arguments', () => {
  const declared = new Map(allScripts.map((script) => [script.name, script]))
  const inputs: Record<string, unknown> = {
    expired: {
      expiry: 'x',
      tombstones: 't',
      lease: 's',
      nowMs: 1,
      leaseMs: 2,
      limit: 3,
      token: 'a',
    },
    reindex: { index: 'x', lease: 's', nowMs: 1, token: 'a', members: [] },
    fence: { owner: 'o', dirty: true, nowMs: 1 },
    confirm: { epoch: { key: 'e', text: '1-x' }, mark: 'm' },
    renew_lock: { lock: 'l', token: 't', ttlMs: 1 },
  }

  it.each(Object.keys(inputs))('%s: as many as its body reads', (name) => {
    const script = declared.get(name)
    const body = bodyOf(scriptText(name))
    const input = inputs[name] as never
    expect(script?.keys(input)).toHaveLength(highestIndex(body, 'KEYS'))
    expect(script?.args(input)).toHaveLength(highestIndex(body, 'ARGV'))
  })

  it('load, forget and reindex: per owner and member as in their headers', () => {
    const load = {
      epoch: { key: 'e', text: '1-x' },
      owners: [
        { key: 'a', fields: ['s:1', 'p:1', 'f'] },
        { key: 'b', fields: ['s:2', 'p:2'] },
      ],
    }
    expect(declared.get('load')?.keys(load as never)).toEqual(['e', 'a', 'b'])
    expect(declared.get('load')?.args(load as never)).toEqual([
      '1-x',
      ...[3, 's:1', 'p:1', 'f'],
      ...[2, 's:2', 'p:2'],
    ])
    const members = [{ member: 'm', account: 'o', field: 'f' }]
    const forget = { tombstones: 't', expiry: 'x', nowMs: 9, members } as never
    expect(declared.get('forget')?.keys(forget)).toEqual(['t', 'x', 'o'])
    expect(declared.get('forget')?.args(forget)).toEqual([9, 'm', 'f'])
    const moving = { index: 'x', lease: 's', nowMs: 9, token: 'a' }
    const reindex = { ...moving, members: [{ member: 'm', score: 7 }] } as never
    expect(declared.get('reindex')?.keys(reindex)).toEqual(['x', 's'])
    expect(declared.get('reindex')?.args(reindex)).toEqual([9, 'a', 7, 'm'])
  })
})
