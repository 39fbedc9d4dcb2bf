/** The worst possible messages: twice the size takes at most about twice the work. */
import { describe, expect, it } from 'vitest'
import { operationsOf } from '../../support/operations.ts'
import {
  codecFactoryOf,
  context,
  fuzzFormats,
  wideDocument,
} from '../../support/realtime/codecs/fuzz-dialects.ts'

const BODY_BYTES_MAX = 65_536
const HALF = BODY_BYTES_MAX / 2
/** A little more than twice, which allows for logarithmic growth. */
const FACTOR_MAX = 2.4
/** Executed blocks of code for each byte: linear work can be slow, too. */
const PER_BYTE_MAX = 60

const formats = new Map(fuzzFormats().map((format) => [format.name, format.fresh]))

/** As many parts as fit. */
function filled(bytes: number, start: string, part: (index: number) => string, end = ''): Buffer {
  const parts: string[] = []
  let room = bytes - start.length - end.length
  for (let index = 0; ; index += 1) {
    const next = part(index)
    room -= next.length
    if (room < 0) break
    parts.push(next)
  }
  return Buffer.from(start + parts.join('') + end)
}

type Shape = (bytes: number) => Buffer

const json: Record<string, Shape> = {
  'an open list': (n) => Buffer.from('['.repeat(n)),
  'lists within lists': (n) => Buffer.from(`${'{"a":'.repeat(n / 6)}1${'}'.repeat(n / 6)}`),
  'one long list': (n) => filled(n, '{"list":[1', () => ',1', ']}'),
  'many members': (n) => filled(n, '{"op":"I"', (i) => `,"${i.toString(36)}":1`, '}'),
  'one name again and again': (n) => filled(n, '{"op":"I"', () => ',"a":[{}]', '}'),
  'numbers as names': (n) => filled(n, '{"op":"I"', (i) => `,"${i * 65_537}":1`, '}'),
  'a long name': (n) => Buffer.from(`{"${'x'.repeat(n - 10)}":1}`),
  'a long text': (n) => Buffer.from(`{"op":"${'x'.repeat(n - 12)}"}`),
  'a text of escapes': (n) => filled(n, '{"session":"', () => '\\ud83d\\ude00', '"}'),
  'quotes and backslashes': (n) => filled(n, '{"session":"', () => '\\"', '"}'),
  'records in a list': (n) => filled(n, '{"op":"I","list":[{}', () => ',{"kind":"y"}', ']}'),
}
const xml: Record<string, Shape> = {
  'elements within elements': (n) => Buffer.from('<a>'.repeat(n / 3)),
  'siblings of one name': (n) => filled(n, '<m>', () => '<a/>', '</m>'),
  'siblings of all names': (n) => filled(n, '<m>', (i) => `<a${i}/>`, '</m>'),
  attributes: (n) => filled(n, '<m', (i) => ` a${i}=""`, '/>'),
  'one attribute': (n) => Buffer.from(`<m a="${'x'.repeat(n - 9)}"/>`),
  entities: (n) => filled(n, '<m>', () => '&lt;', '</m>'),
  'one entity': (n) => Buffer.from(`<m>&${'x'.repeat(n - 9)};</m>`),
  'one number of a character': (n) => Buffer.from(`<m>&#${'0'.repeat(n - 10)};</m>`),
  'a DOCTYPE': (n) => filled(n, '<!DOCTYPE m [', (i) => `<!ENTITY a${i} "&a;">`, ']><m/>'),
  'sections of text': (n) => filled(n, '<m>', () => '<![CDATA[]]]]>', '</m>'),
  'an open section': (n) => filled(n, '<m><![CDATA[', () => ']]', ''),
  comments: (n) => filled(n, '<m>', () => '<!---->', '</m>'),
  'an open comment': (n) => filled(n, '<m><!--', () => '-a'),
  instructions: (n) => filled(n, '<m>', () => '<?a?>', '</m>'),
  'an open instruction': (n) => filled(n, '<m><?a ', () => '? '),
  declaration: (n) => filled(n, '<?xml version="1.0" encoding="', () => 'x', '"?><m/>'),
  'text in pieces': (n) => filled(n, '<m>', () => 'a<b/>', '</m>'),
  'open quotes': (n) => filled(n, '<m ', (i) => `a${i}="`),
}
const pairs: Record<string, Shape> = {
  'nothing but separators': (n) => Buffer.from('&'.repeat(n)),
  'nothing but equals': (n) => Buffer.from('='.repeat(n)),
  'no separator': (n) => Buffer.from('a'.repeat(n)),
  'one key': (n) => filled(n, '', () => 'a=1&'),
  'all keys': (n) => filled(n, '', (i) => `${i.toString(36)}=1&`),
  'a list by indexes': (n) => filled(n, '', (i) => `l.${i % 256}=1&`),
  'lists of records': (n) => filled(n, '', (i) => `l.${i % 256}.a${i >> 8}=1&`),
  'lists in lists': (n) =>
    filled(n, '', (i) => `${'0.'.repeat(1 + (i % 30))}a=1&`.replace('0', 'l')),
  'records in records': (n) => filled(n, '', (i) => `${'a.'.repeat(30)}${i}=1&`),
  'many lists': (n) => filled(n, '', (i) => `l${i}.0.0.0=1&`),
  appended: (n) => filled(n, '', () => 'a[]=1&'),
  dots: (n) => filled(n, 'a', () => '.'),
  blanks: (n) => filled(n, 'a=', () => '+'),
  escapes: (n) => filled(n, 'a=', () => '%41'),
  'one escape at the end': (n) => filled(n, '', () => 'a=1&', '%41=%41'),
  'values in quotes': (n) => filled(n, '', (i) => `a${i}="b",`),
  'quotes within quotes': (n) => filled(n, 'a="', () => '""', '"'),
  'an open quote each': (n) => filled(n, '', () => 'a="b&,\n'),
}
const diameter: Record<string, Shape> = {
  ...json,
  'pairs of one code': (n) => filled(n, '[["263","s"]', () => ',["456",[]]', ']'),
  'groups of pairs': (n) => filled(n, '[["263","s"]', () => ',["456",[["1",2]]]', ']'),
  'groups within groups': (n) => Buffer.from(`${'[["456",'.repeat(n / 10)}1${']]'.repeat(n / 10)}`),
  'repeated and again': (n) => filled(n, '[["263","s"]', () => ',["456",[1,2]]', ']'),
  entries: (n) => filled(n, '[{"code":263,"value":"s"}', () => ',{"code":1,"value":[]}', ']'),
  'halves of numbers': (n) => filled(n, '{"421":[1', () => ',{"high":1,"low":2}', ']}'),
}

const rows = [
  ...['plain JSON', 'mapped JSON', 'mapped JSON of docs'].map((name) => ({ name, shapes: json })),
  ...['built-in xml', 'mapped XML'].map((name) => ({ name, shapes: xml })),
  ...['built-in diameter', 'mapped Diameter'].map((name) => ({ name, shapes: diameter })),
  ...[...formats.keys()]
    .filter((name) => name.startsWith('pairs') || name === 'built-in keyvalue')
    .map((name) => ({ name, shapes: pairs })),
]

describe.each(rows)('linear work: $name', ({ name, shapes }) => {
  it.each(Object.keys(shapes))('%s', (what) => {
    const fresh = formats.get(name)!
    const shape = shapes[what]!
    const work = (bytes: number, codec = fresh()) => {
      const body = shape(bytes)
      return operationsOf(() => {
        const decoded = codec.decode(body, context)
        if (!decoded.ok) codec.encodeError(decoded.error)
      })
    }
    // A warm-up run, so that one-time work is not counted.
    const known = fresh()
    work(BODY_BYTES_MAX, known)
    const [half, whole] = [work(HALF), work(BODY_BYTES_MAX)]
    expect(whole).toBeLessThan(half * FACTOR_MAX + 20_000)
    expect(whole).toBeLessThan(BODY_BYTES_MAX * PER_BYTE_MAX)
    expect(work(BODY_BYTES_MAX, known)).toBeLessThan(BODY_BYTES_MAX * PER_BYTE_MAX)
  })
})

it('the first wrong byte of XML is found in linear work', async () => {
  // Not imported above: it would be compiled before the counters.
  const { offsetOf } = await import('../../../src/realtime/codecs/places.ts')
  const work = (elements: number) => {
    const body = Buffer.from(`<m>${'<a/>'.repeat(elements)}</n>`)
    return operationsOf(() => offsetOf(body, { type: 'xml' }, { field: 'body' }))
  }
  work(2_000)
  expect(work(2_000)).toBeLessThan(work(1_000) * FACTOR_MAX)
})

describe('a file type with 32 services', () => {
  const FEW = 475
  const MANY = 1_900
  /** 32 services beside a list of this length, whose members are tested for each service. */
  const message = (members: number, member: (index: number) => unknown) => {
    const big = Array.from({ length: members }, (_, index) => member(index))
    const list = Array.from({ length: 32 }, (_, index) => ({ group: index, want: 1, type: 'data' }))
    return Buffer.from(JSON.stringify({ op: 'I', session: 's', sid: 1, big, list }))
  }
  const withCondition = (condition: object) => {
    const { processor, ...rest } = wideDocument({ type: 'json' })
    const rule = { usaget: 'sms', volume_src: ['want'], conditions: [condition] }
    const mappings = [rule, ...processor.usaget_mapping]
    const codec = codecFactoryOf({
      ...rest,
      processor: { ...processor, usaget_mapping: mappings },
    })()
    return (body: Buffer) => codec.decode(body, context)
  }
  const values = Array.from({ length: 500 }, (_, index) => index + 0.5)

  it.each([
    ['a selector', { src_field: 'big[a=x].b', pattern: '5' }, (index: number) => ({ a: index })],
    ['equality', { src_field: 'big', pattern: 'x' }, (index: number) => index],
    [
      'a long list of values',
      { src_field: 'big', op: '$in', pattern: values },
      (index: number) => index,
    ],
    ['order', { src_field: 'big', op: '$gt', pattern: 9 }, () => 1],
    ['an expression', { src_field: 'big', pattern: '/^(x|xx)*y/' }, () => 'x'],
  ])('%s over a list', (_what, condition, member) => {
    const decode = withCondition(condition)
    const work = (members: number) => {
      const body = message(members, member)
      const decoded = decode(body)
      expect(decoded.ok ? '' : decoded.error.why).toBe('')
      return operationsOf(() => decode(body))
    }
    const [few, many] = [work(FEW), work(MANY)]
    expect(many).toBeLessThan(few * 2 * FACTOR_MAX)
    // A few blocks for each pair of service and member.
    expect(many).toBeLessThan(32 * MANY * 25)
  })
})
