/** Key-value and XML as network elements of the tests write and read them. */
import type { Fields } from '../exchange.ts'
import type { DialectAdapter } from './adapter.ts'

/** These formats do not distinguish texts from the numbers and booleans of an answer. */
function readable(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?\d{1,15}(?:\.\d+)?$/.test(text) ? Number(text) : text
}

function pairsOf(fields: Fields, prefix = ''): [string, string][] {
  return Object.entries(fields).flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return []
    const path = `${prefix}${name}`
    if (typeof value === 'object' && value !== null) return pairsOf(value as Fields, `${path}.`)
    return [[path, String(value)]]
  })
}

interface Nested {
  [name: string]: unknown
}

function put(into: Nested, path: readonly string[], value: unknown): void {
  const [step = '', ...rest] = path
  if (rest.length === 0) {
    into[step] = value
    return
  }
  into[step] ??= /^\d+$/.test(rest[0] ?? '') ? [] : {}
  put(into[step] as Nested, rest, value)
}

export const keyValue: DialectAdapter = {
  name: 'keyvalue',
  path: '/realtime/keyvalue',
  contentType: 'application/x-www-form-urlencoded',
  write: (fields) => new URLSearchParams(pairsOf(fields)).toString(),
  read(text) {
    const fields: Nested = {}
    for (const [name, value] of new URLSearchParams(text)) {
      put(fields, name.split('.'), readable(value))
    }
    return fields
  },
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

function elements(fields: Fields): string {
  return Object.entries(fields)
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((one: unknown) => {
        if (one === undefined) return ''
        const inner =
          typeof one === 'object' && one !== null
            ? elements(one as Fields)
            : String(one).replace(/[&<>]/g, (sign) => ENTITIES[sign] ?? sign)
        return `<${name}>${inner}</${name}>`
      }),
    )
    .join('')
}

const ELEMENT = /<(\w+)>([\s\S]*?)<\/\1>/g

/** Sufficient for answers, in which no element contains another of its name. */
function fieldsIn(xml: string): Nested {
  const fields: Nested = {}
  for (const [, name = '', inner = ''] of xml.matchAll(ELEMENT)) {
    const text = inner
      .replace(/&lt;/g, '<')
      .replace(/&gt;/g, '>')
      .replace(/&quot;/g, '"')
    const value = inner.includes('<') ? fieldsIn(inner) : readable(text.replace(/&amp;/g, '&'))
    if (name === 'services') fields[name] = [...((fields[name] as unknown[]) ?? []), value]
    else fields[name] = value
  }
  return fields
}

export const xml: DialectAdapter = {
  name: 'xml',
  path: '/realtime/xml',
  contentType: 'application/xml',
  write: (fields) => `<?xml version="1.0"?><request>${elements(fields)}</request>`,
  read: (text) => fieldsIn(/<response>([\s\S]*)<\/response>/.exec(text)?.[1] ?? ''),
}
