import { describe, expect, it } from 'vitest'
import { checkConsole } from './console.ts'
import { CONSOLE, HOUSE, readTree, report } from './tree.ts'

function rules(path: string, text: string): readonly string[] {
  return checkConsole([{ path: `${CONSOLE}${path}`, text }]).map(({ rule }) => rule)
}

describe('the console', () => {
  it('follows its rules', () => {
    const files = readTree(HOUSE, [CONSOLE])
    expect(files.length).toBeGreaterThan(10)
    expect(report(checkConsole(files))).toEqual([])
  })
})

describe('rules of the console', () => {
  it('it imports its own files, and no packages but those of its list', () => {
    expect(rules('main.tsx', `import { render } from 'preact'`)).toEqual([])
    expect(rules('main.tsx', `import fs from 'node:fs'`)).toEqual([
      'the console may not import node:fs',
    ])
    expect(
      rules('api/a.ts', `import type { Fields } from '../../../../src/domain/fields.ts'`),
    ).toEqual(['the console may not import src/domain/fields.ts'])
    expect(rules('main.tsx', `import './absent.css'`)).toEqual([`there is no ${CONSOLE}absent.css`])
  })

  it('only api/ sends requests', () => {
    expect(rules('api/a.ts', `fetch('x')`)).toEqual([])
    expect(rules('pages/a/page.tsx', `window.fetch('x')`)).toEqual([
      `fetch is used only in ${CONSOLE}api/`,
    ])
    expect(rules('frame/a.ts', `new EventSource('x')`)).toHaveLength(1)
  })

  it.each([
    ['no innerHTML', 'node.innerHTML = text'],
    ['no dangerouslySetInnerHTML', 'const a = <p dangerouslySetInnerHTML={{ __html: b }} />'],
    ['no eval', 'eval(text)'],
    ['no parseFloat: figures are text, Intl formats them', 'parseFloat(price)'],
    ['no toFixed: figures are text, Intl formats them', 'price.toFixed(2)'],
    [
      `localStorage is used only in ${CONSOLE}frame/choices.ts`,
      `localStorage.setItem('customer', text)`,
    ],
    [`sessionStorage is used only in ${CONSOLE}parts/tab-storage.ts`, 'sessionStorage.clear()'],
  ])('%s', (rule, text) => {
    expect(rules('parts/a.tsx', text)).toEqual([rule])
  })

  it('a class begins selectors of one stylesheet only', () => {
    const sheet = (name: string, text: string) => ({ path: `${CONSOLE}parts/${name}.css`, text })
    const bar = sheet('bar', '.bar {\n  height: 1px;\n}\n')
    expect(checkConsole([bar, sheet('a', '.a .bar,\n.bars {\n  height: 2px;\n}\n')])).toEqual([])
    for (const text of ['.bar {\n}\n', '.a,\n.bar {\n}\n', '.bar > p {\n}\n']) {
      const problems = checkConsole([bar, sheet('b', text)])
      expect(problems.map(({ rule }) => rule)).toEqual([`.bar belongs to ${CONSOLE}parts/bar.css`])
    }
  })

  it('a file has at most 250 lines', () => {
    expect(rules('parts/a.css', 'a\n'.repeat(250))).toEqual([])
    expect(rules('parts/a.css', 'a\n'.repeat(251))).toHaveLength(1)
  })
})
