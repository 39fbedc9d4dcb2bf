import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkStyle } from './style.ts'
import { HOUSE, readTree, report } from './tree.ts'

/** Rules violated by one file, except the README that its module requires. */
function problems(path: string, text: string): readonly string[] {
  return checkStyle([{ path, text }])
    .map((violation) => violation.rule)
    .filter((rule) => rule !== 'each module has a README.md')
}

const lines = (count: number, line = '  call()') => Array.from({ length: count }, () => line)
const functionOf = (count: number) => ['function f() {', ...lines(count - 2), '}'].join('\n')

describe('the project', () => {
  it('follows the style rules in src, bench, test and packages', () => {
    const files = readTree(HOUSE, ['src', 'bench', 'test', 'packages'])
    expect(files.length).toBeGreaterThan(0)
    expect(report(checkStyle(files))).toEqual([])
  })

  it('is read completely, including nested folders', () => {
    const root = mkdtempSync(join(tmpdir(), 'tollgate-house-'))
    try {
      mkdirSync(join(root, 'src/store/utils'), { recursive: true })
      writeFileSync(join(root, 'src/main.ts'), 'enum A {}\n')
      writeFileSync(join(root, 'src/store/utils/a.ts'), '')
      expect(report(checkStyle(readTree(root, ['src', 'absent'])))).toEqual([
        'src/store/utils/a.ts:1 no folder is called utils',
        'src/main.ts:1 no enum',
        'src/store/README.md:1 each module has a README.md',
      ])
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  })
})

describe('size', () => {
  it('a function has at most 70 lines', () => {
    expect(problems('src/store/a.ts', functionOf(70))).toEqual([])
    expect(problems('src/store/a.ts', functionOf(71))).toEqual(['function of 71 lines, 70 allowed'])
    const arrow = `const f = () => {\n${lines(70).join('\n')}\n}`
    expect(problems('src/store/a.ts', arrow)).toHaveLength(1)
    const method = `class A {\n  m() {\n${lines(70).join('\n')}\n  }\n}`
    expect(problems('src/store/a.ts', method)).toHaveLength(1)
  })

  it('a test has at most 70 lines, but a describe block can have more', () => {
    const block = (name: string) => `${name}('x', () => {\n${lines(70).join('\n')}\n})`
    expect(problems('test/store/a.test.ts', block('describe'))).toEqual([])
    expect(problems('test/store/a.test.ts', block('describe.each([1])'))).toEqual([])
    expect(problems('test/store/a.test.ts', block('it'))).toHaveLength(1)
    expect(problems('src/store/a.ts', block('describe'))).toHaveLength(1)
  })

  it('a comment above a function does not count as part of it', () => {
    const comment = ['/**', ...lines(20, ' * words'), ' */'].join('\n')
    expect(problems('src/store/a.ts', `${comment}\n${functionOf(70)}`)).toEqual([])
  })

  it('a file has at most 400 lines', () => {
    expect(problems('src/store/a.ts', `${lines(400, 'call()').join('\n')}\n`)).toEqual([])
    const long = `${lines(401, 'call()').join('\n')}\n`
    expect(problems('src/store/a.ts', long)).toEqual(['file of 401 lines, 400 allowed'])
    expect(problems('src/ledger/lua/a.lua', long)).toEqual(['file of 401 lines, 400 allowed'])
  })

  it('a line has at most 100 columns', () => {
    expect(problems('bench/a.ts', `// ${'x'.repeat(97)}`)).toEqual([])
    expect(problems('bench/a.ts', `// ${'x'.repeat(98)}`)).toEqual([
      'line of 101 columns, 100 allowed',
    ])
  })
})

describe('names', () => {
  it.each(['utils', 'helpers', 'common', 'shared'])('no folder is named %s', (folder) => {
    expect(problems(`src/store/${folder}/a.ts`, '')).toEqual([`no folder is called ${folder}`])
    expect(problems(`test/${folder}/a.ts`, '')).toEqual([`no folder is called ${folder}`])
  })

  it('file names are kebab-case', () => {
    expect(problems('src/store/key-value.ts', '')).toEqual([])
    expect(problems('test/store/key-value.test.ts', '')).toEqual([])
    expect(problems('test/console/key-value.browser.test.ts', '')).toEqual([])
    expect(problems('test/console/keyValue.browser.test.ts', '')).toHaveLength(1)
    expect(problems('src/store/keyValue.ts', '')).toHaveLength(1)
    expect(problems('src/store/Key.ts', '')).toHaveLength(1)
  })

  it('each module has a README.md', () => {
    const code = { path: 'src/store/tokens/a.ts', text: '' }
    const readme = { path: 'src/store/README.md', text: '# store' }
    expect(checkStyle([code])).toHaveLength(1)
    expect(checkStyle([code, readme])).toEqual([])
  })
})

describe('syntax', () => {
  it.each([
    ['no enum', 'enum Level { Low }'],
    ['no enum', 'const enum Level { Low }'],
    ['no namespace', 'namespace A { export const b = 1 }'],
    ['no any', 'const a: any = 1'],
    ['no any', 'const a = b as readonly any[]'],
    ['no default export', 'export default function f() {}'],
    ['no default export', 'export default 1'],
    ['no default export', 'const a = 1\nexport { a as default }'],
    ['no TODO', '// TODO: later'],
    ['no FIXME', 'const a = [\n  /* FIXME */ 1,\n]'],
    ['no @ts-ignore', '// @ts-ignore\nconst a = 1'],
  ])('%s: %s', (rule, text) => {
    expect(problems('src/store/a.ts', text)).toEqual([rule])
    expect(problems('test/store/a.ts', text)).toEqual([rule])
  })

  it('there is no default export, except in workers/main.ts, which piscina calls', () => {
    expect(problems('src/workers/main.ts', 'export default function f() {}')).toEqual([])
  })

  it('a text or a name that resembles forbidden syntax is allowed', () => {
    const text = "const any = 'TODO any enum console Date.now'\nswitch (any) {\n  default:\n}"
    expect(problems('src/store/a.ts', text)).toEqual([])
  })
})

describe('effects and hidden inputs have one module', () => {
  it.each([
    ['config', 'process.env is used only in src/config/', 'const a = process.env.HOME'],
    ['config', 'process.env is used only in src/config/', "const a = process['env']"],
    ['config', 'process.env is used only in src/config/', 'const { env } = process'],
    ['config', 'process.env is used only in src/config/', 'f(globalThis.process.env)'],
    ['runtime', 'Date.now is used only in src/runtime/', 'const a = Date.now()'],
    ['runtime', 'Date.now is used only in src/runtime/', 'const { now: a } = Date'],
    ['runtime', 'new Date() is used only in src/runtime/', 'const a = new Date()'],
    ['runtime', 'new Date() is used only in src/runtime/', 'const a = new Date'],
    ['runtime', 'new Date() is used only in src/runtime/', 'const a = Date()'],
    ['runtime', 'performance.now is used only in src/runtime/', 'const a = performance.now()'],
    ['runtime', 'process.hrtime is used only in src/runtime/', 'process.hrtime.bigint()'],
    ['runtime', 'process.stdout is used only in src/runtime/', "process.stdout.write('')"],
    ['runtime', 'Math.random is used only in src/runtime/', 'const a = Math.random()'],
    ['runtime', 'console is used only in src/runtime/', "console.log('')"],
    ['runtime', 'console is used only in src/runtime/', 'globalThis.console.log()'],
    ['runtime', 'console is used only in src/runtime/', 'const { log } = console'],
  ])('%s: %s: %s', (module, rule, text) => {
    expect(problems('src/store/a.ts', text)).toEqual([rule])
    expect(problems(`src/${module}/a.ts`, text)).toEqual([])
    expect(problems('test/store/a.ts', text)).toEqual([])
  })

  it('a date of a known time, crypto randomness, and a member of that name are allowed', () => {
    const text = 'new Date(nowMs)\nrandomBytes(8)\nadmin.console.open()\nconst a = { console: 1 }'
    expect(problems('src/store/a.ts', text)).toEqual([])
  })
})

describe('an amount in a text is formatted by moneyFormat', () => {
  const rule = 'an amount in a text is formatted by moneyFormat'
  it.each([
    ['`account #{aid} owes #{debt}`', 1],
    ['`(#{bill.amount} of money)`', 1],
    ['`Debt: #{decimalText(owed)}`', 1],
    ['`account #{aid} owes #{money(debt)}`', 0],
    ['`/#{amount}`', 0],
  ])('%s', (text, count) => {
    const found = (path: string) => problems(path, `const a = ${text.replaceAll('#', '$')}`)
    expect(found('src/cli/a.ts')).toEqual(Array.from({ length: count }, () => rule))
    expect(found('packages/console/src/a.ts')).toEqual([])
    expect(found('test/cli/a.ts')).toEqual([])
  })
})

describe('src/main.ts and src/roles.ts only wire modules', () => {
  it.each(['for (const a of b) c(a)', 'while (a) b()', 'const a = b * 2', 'class A {}'])(
    '%s is refused',
    (text) => {
      expect(problems('src/main.ts', text)).toEqual(['main.ts has no logic'])
      expect(problems('src/roles.ts', text)).toEqual(['roles.ts has no logic'])
      expect(problems('src/store/main.ts', text)).toEqual([])
    },
  )

  it('choosing a role is allowed', () => {
    const text = "if (role === 'admin') await start(config, () => stop())"
    expect(problems('src/main.ts', text)).toEqual([])
  })
})
