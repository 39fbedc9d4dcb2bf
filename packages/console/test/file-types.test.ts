/** Pure parts of the page of file types: places of bytes, hexadecimal messages, stages. */
import { describe, expect, it } from 'vitest'
import { base64Of, bytesOfHex, hexRows } from '../src/pages/file-types/hexadecimal.ts'
import { markedText, visibleCharacter } from '../src/pages/file-types/position.ts'
import { fieldRows, problemOf, stagesOf } from '../src/pages/file-types/stages.ts'

describe('the place of a byte', () => {
  it.each([
    ['abc', 0, 'a', 1, 1],
    ['abc', 2, 'c', 1, 3],
    ['a\nbc', 1, '\n', 1, 2],
    ['a\nbc', 3, 'c', 2, 2],
    ['a\r\nb', 3, 'b', 2, 1],
    ['é!', 2, '!', 1, 2],
    ['é!', 1, 'é', 1, 1],
    ['€!', 3, '!', 1, 2],
    ['😀!', 4, '!', 1, 2],
    ['😀!', 3, '😀', 1, 1],
    ['é\n€😀x', 10, 'x', 2, 3],
    ['\ud800!', 3, '!', 1, 2],
  ])('%j at %i is %j, line %i, column %i', (text, offset, marked, line, column) => {
    const place = markedText(text, offset)
    expect(place).toMatchObject({ marked, line, column })
    expect(place.before + place.marked + place.after).toBe(text)
  })

  it.each([
    ['', 0],
    ['é', 2],
    ['é', 99],
  ])('of %j at %i is its end', (text, offset) => {
    expect(markedText(text, offset)).toMatchObject({ before: text, marked: '', after: '' })
  })

  it('agrees with the encoder on every character of a text', () => {
    const text = 'a\u007f\u0080é\u07ff\u0800€\uffff\u{10000}😀\u{10ffff}z'
    let offset = 0
    for (const character of text) {
      expect(markedText(text, offset).marked).toBe(character)
      offset += new TextEncoder().encode(character).length
    }
    expect(markedText(text, offset).marked).toBe('')
  })

  it('has a sign for what cannot be seen', () => {
    const signs = ['\n', ' ', '\t', '\0', '\u202e', '\u00a0', 'x', 'é'].map(visibleCharacter)
    expect(signs).toEqual(['↵', '␣', '⇥', 'U+0000', 'U+202E', 'U+00A0', 'x', 'é'])
  })
})

describe('hexadecimal messages', () => {
  it.each([
    ['7b 22', [0x7b, 0x22]],
    ['7B22\n ff', [0x7b, 0x22, 0xff]],
    ['0x7b,0x22', [0x7b, 0x22]],
    ['00:01-02', [0, 1, 2]],
    ['', []],
  ])('%j are the bytes %j', (text, bytes) => {
    expect([...(bytesOfHex(text).bytes ?? [])]).toEqual(bytes)
  })

  it.each([
    ['7g', 'g'],
    ['7b é', 'é'],
    ['7b 😀', '😀'],
    ['7b 2', ''],
  ])('%j are wrong at %j', (text, wrong) => {
    expect(bytesOfHex(text)).toEqual({ bytes: null, wrong })
  })

  it('are sent in base 64', () => {
    expect(base64Of(Uint8Array.from([0, 255, 128, 65]))).toBe('AP+AQQ==')
  })

  it('have a marked byte, with rows around it', () => {
    const bytes = Uint8Array.from({ length: 1_000 }, (_, index) => index % 256)
    const rows = hexRows(bytes, 500)
    expect(rows.length).toBeLessThan(40)
    const marked = rows.flatMap(({ offset, cells }) =>
      cells.flatMap(({ isMarked, hex }, index) => (isMarked ? [[offset + index, hex]] : [])),
    )
    expect(marked).toEqual([[500, 'f4']])
    expect(hexRows(Uint8Array.from([0x41, 0]), 0)).toEqual([
      {
        offset: 0,
        cells: [
          { hex: '41', isMarked: true },
          { hex: '00', isMarked: false },
        ],
        text: 'A.',
      },
    ])
  })

  it.each([0, 3, 8, 16])('of %i bytes have a mark at their end', (length) => {
    const cells = hexRows(new Uint8Array(length), length).flatMap((row) => row.cells)
    expect(cells.filter(({ isMarked }) => isMarked)).toEqual([{ hex: '', isMarked: true }])
    expect(cells.at(-1)?.isMarked).toBe(true)
    expect(cells).toHaveLength(length + 1)
  })
})

describe('stages', () => {
  const step = (name: string, ok = true, result: unknown = {}) => ({ step: name, ok, result })
  const statesOf = (...steps: ReturnType<typeof step>[]) => {
    return stagesOf(steps).map(({ name, state }) => `${name} ${state}`)
  }

  it('are done as far as the message comes', () => {
    expect(
      statesOf(
        ...['document', 'message', 'session', 'request', 'found subscriber'].map((name) =>
          step(name),
        ),
        step('price', false),
        step('answer'),
      ),
    ).toEqual(['parse done', 'map done', 'rate failed', 'answer done'])
    expect(statesOf(step('document'), step('message', false), step('answer'))).toEqual([
      'parse failed',
      'map notReached',
      'rate notReached',
      'answer done',
    ])
    expect(statesOf(step('document', false))).toEqual([
      'parse failed',
      'map notReached',
      'rate notReached',
      'answer notReached',
    ])
  })

  it('do not reach the rate of an update', () => {
    const states = statesOf(step('request'), step('found subscriber', true, 'with its session'))
    expect(states[2]).toBe('rate notReached')
  })

  it('of records in files end with their mapping', () => {
    expect(statesOf(step('document'), step('records.1', false), step('file'))).toEqual([
      'parse done',
      'map failed',
      'rate notReached',
      'answer notReached',
    ])
    const wrong = { text: 'x', field: 'when', why: 'is required' }
    expect(problemOf(step('records.1', false, wrong))).toMatchObject({
      field: 'when',
      offset: null,
    })
  })

  it('know what is wrong, and where', () => {
    const result = { field: 'when', why: 'is no date', offset: 0 }
    expect(problemOf(step('request', false, result))).toEqual({ ...result, code: null })
    expect(problemOf(step('document', false, { path: 'a.b', reason: 'is missing' }))).toEqual({
      field: 'a.b',
      why: 'is missing',
      code: null,
      offset: null,
    })
    expect(problemOf(step('price', false, { code: -3, why: 'No rate' }))?.code).toBe('-3')
    expect(problemOf(step('session', false, { problem: result }))).toBeNull()
    expect(problemOf(step('request', true, result))).toBeNull()
  })

  it('show results by path, at most so many', () => {
    const result = { a: { b: [1, { c: null }] }, d: {}, e: '<img>' }
    expect(fieldRows(result, 10)).toEqual({
      rows: [
        { field: 'a.b.0', value: '1' },
        { field: 'a.b.1.c', value: null },
        { field: 'd', value: '{}' },
        { field: 'e', value: '<img>' },
      ],
      more: 0,
    })
    expect(fieldRows(result, 1)).toMatchObject({ rows: [{ field: 'a.b.0' }], more: 3 })
    expect(fieldRows('text', 9).rows).toEqual([{ field: '', value: 'text' }])
  })
})
