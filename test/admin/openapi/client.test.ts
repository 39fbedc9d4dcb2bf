/** A TypeScript client with types generated from the document compiles, and is strict. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import ts from 'typescript'
import { beforeAll, describe, expect, it } from 'vitest'
import { DOCUMENT } from '../../support/admin/openapi/answer-check.ts'
import { useFolder } from '../../support/opened.ts'

const WALK = fileURLToPath(new URL('./client/walk.ts', import.meta.url))
const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url))
let generated: string

const folder = useFolder()
beforeAll(async () => {
  const document = JSON.parse(JSON.stringify(DOCUMENT)) as OpenAPI3
  generated = astToString(await openapiTS(document))
  writeFileSync(join(folder, 'schema.d.ts'), generated)
})

/** Compiler errors of files that use the generated types. */
function problemsOf(files: string[]): string[] {
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    types: [],
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    paths: {
      'tollgate-api': [join(folder, 'schema.d.ts')],
      'openapi-fetch': [join(MODULES, 'openapi-fetch')],
    },
  })
  return ts.getPreEmitDiagnostics(program).map(({ messageText, file, start = 0 }) => {
    const line = file?.getLineAndCharacterOfPosition(start).line ?? 0
    return `${file?.fileName}:${line + 1} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
}

/** Accounts that must not compile: a field is missing, of a wrong type, or unknown. */
const WRONG = [
  `{ lastname: 'Byron' }`,
  `{ ...PERSON, firstname: 7 }`,
  `{ ...PERSON, services: [{ nam: 'TV' }] }`,
  `{ ...PERSON, invoice_shipping_method: 'pigeon' }`,
]

function wrongFile(): string {
  const file = join(folder, 'wrong.mts')
  const head = [
    `import type { components } from 'tollgate-api'`,
    `type Account = components['schemas']['accounts.create.update']`,
    `const PERSON = { firstname: 'A', lastname: 'B', email: 'a@b.cd', country: 'UK',`,
    `  address: 'X', zip_code: '1' } satisfies Account`,
  ]
  const wrong = WRONG.map((update, index) => {
    return `// @ts-expect-error\nexport const wrong${index}: Account = ${update}`
  })
  writeFileSync(file, `${[...head, ...wrong].join('\n')}\n`)
  return file
}

describe('a client generated from the document', () => {
  it('compiles with the walk of docs/TUTORIAL.md, and not with wrong requests', () => {
    expect(problemsOf([WALK, wrongFile()])).toEqual([])
  })

  it('has no any and no unknown type', () => {
    // Headers of answers may have further names.
    const types = generated.replaceAll(/headers: \{[^{}]*\}/g, '')
    expect(types.match(/: (?:any|unknown)\b|\b(?:any|unknown)\[\]|<(?:any|unknown)>/g)).toBeNull()
  })
})
