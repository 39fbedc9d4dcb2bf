import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileHidden } from '../../src/file-types/hidden.ts'
import { compilePath, pathAt } from '../../src/file-types/paths.ts'
import { refusal } from '../support/file-types/sample.ts'

const MESSAGE = {
  a: { b: 1, list: [{ c: 'first' }, { c: 'second', d: 4 }] },
  flat: 'text',
  'x.y': 'literal',
  ids: [
    { type: 0, value: '4930' },
    { type: '1', value: '26201' },
  ],
  single: { type: 1, value: 'alone' },
  0: 'zero',
  nothing: null,
}

describe('a path', () => {
  it.each([
    ['flat', 'text'],
    ['uf.flat', 'text'],
    ['cf.a.b', 1],
    ['a.list.c', 'first'],
    ['a.list.1.c', 'second'],
    ['a.list.2.c', undefined],
    ['x.y', 'literal'],
    ['ids[type=0].value', '4930'],
    ['ids[type=1].value', '26201'],
    ['ids[type=2].value', undefined],
    ['ids[type].value', '4930'],
    ['ids[more].more', undefined],
    ['a.list[d].d', 4],
    ['single[value].value', 'alone'],
    ['single[other].other', undefined],
    ['single[type=1].value', 'alone'],
    ['single[type=2].value', undefined],
    ['a.list[c=second].c', 'second'],
    ['0', 'zero'],
    ['flat.length', undefined],
    ['a.list.length', undefined],
    ['nothing', undefined],
    ['nothing.more', undefined],
    ['constructor', undefined],
    ['a.constructor.name', undefined],
    ['__proto__', undefined],
    ['toString', undefined],
    ['absent', undefined],
  ])('%s reads %j', (text, expected) => {
    expect(compilePath(text)?.in(MESSAGE)).toEqual(expected)
  })

  it('reads such a name if the message itself has it', () => {
    const message = JSON.parse('{"constructor":"a","__proto__":{"toString":"b"}}')
    expect(compilePath('constructor')?.in(message)).toBe('a')
    expect(compilePath('__proto__.toString')?.in(message)).toBe('b')
    expect(compilePath('x[constructor=1].y')?.in({ x: [{}] })).toBe(undefined)
  })

  it('is read from the entry, then from the message', () => {
    const path = compilePath('p.q')
    const message = { p: { q: 'outer' } }
    expect(path?.read({ entry: { p: { q: 'inner' } }, message })).toBe('inner')
    expect(path?.read({ entry: { p: {} }, message })).toBe('outer')
    expect(path?.read({ entry: message, message })).toBe('outer')
  })

  it.each(['', '.', 'a.', '.a', 'a..b', 'a b', 'a[]', 'a[=1]', 'a[b=]', 'a[b=1', 'a[b=1]c', 'ä'])(
    'cannot be %j',
    (text) => {
      expect(compilePath(text)).toBeNull()
    },
  )

  it('is refused with its position', () => {
    expect(refusal(() => pathAt('a b', 'x.y'))).toBe(
      "x.y must be the path of a field, such as a.b, a.0.b or a[key=value].b, is 'a b'",
    )
    expect(refusal(() => pathAt(undefined, 'x.y'))).toBe('x.y is missing')
    expect(refusal(() => pathAt(3, 'x.y'))).toBe('x.y must be a text that is not empty')
  })

  it('never throws, whatever the message', () => {
    const names = fc.constantFrom('a', 'b', '0', '1', 'constructor', '__proto__', 'length')
    const steps = fc.array(names, { minLength: 1, maxLength: 4 })
    const messages = fc.dictionary(names, fc.anything(), { noNullPrototype: false })
    fc.assert(
      fc.property(steps, messages, fc.boolean(), (path, message, isSelecting) => {
        const text = isSelecting ? `${path.join('.')}[a=1]` : path.join('.')
        const reader = compilePath(text)
        expect(() => reader?.read({ entry: message, message: {} })).not.toThrow()
      }),
    )
  })

  it('reads nothing inherited', () => {
    const inherited = Object.getOwnPropertyNames(Object.prototype)
    for (const name of inherited) {
      expect(compilePath(name)?.in({}), name).toBe(undefined)
      expect(compilePath(`a.${name}`)?.in({ a: {} }), name).toBe(undefined)
      expect(compilePath(`a.${name}`)?.in({ a: [{}] }), name).toBe(undefined)
    }
  })
})

describe('hidden fields', () => {
  const hide = (names: readonly string[], message: Record<string, unknown>) =>
    compileHidden(
      names.map((name) => ({ name, checked: false })),
      'at',
    )(message)

  it('are removed with their content', () => {
    expect(hide(['a'], MESSAGE)).not.toHaveProperty('a')
    expect(hide(['a.list.c'], MESSAGE)).toMatchObject({ a: { b: 1, list: [{}, {}] } })
    expect(hide(['a.list.c'], MESSAGE)).not.toHaveProperty('a.list.1.c')
    expect(hide(['a.list.1'], MESSAGE)).toMatchObject({ a: { list: [{ c: 'first' }, null] } })
    expect(hide(['a.list.0.c', 'flat'], MESSAGE)).not.toHaveProperty('flat')
    expect(hide(['x.y'], MESSAGE)).not.toHaveProperty(['x.y'])
  })

  it('do not change the message itself', () => {
    const before = structuredClone(MESSAGE)
    hide(['a.b', 'flat', 'ids.value'], MESSAGE)
    expect(MESSAGE).toEqual(before)
    expect(hide(['absent', 'absent.b'], MESSAGE)).toBe(MESSAGE)
    const isChecked = compileHidden([{ name: 'flat', checked: true }, { name: 'a' }], 'at')
    expect(isChecked(MESSAGE)).toBe(MESSAGE)
  })

  it('inherit nothing from names such as __proto__', () => {
    const message = JSON.parse('{"__proto__":{"x":1},"a":{"__proto__":{"y":1},"b":2}}')
    const visible = hide(['a.b'], message) as { a: object }
    expect(Object.hasOwn(visible, '__proto__')).toBe(true)
    expect(Object.keys(visible.a)).toEqual(['__proto__'])
    expect(({} as { y?: number }).y).toBe(undefined)
  })
})
