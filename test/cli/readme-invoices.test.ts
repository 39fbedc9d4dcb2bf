/** README.md, "Invoice three months": its lines run in a shell as they are, after `npm start`. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { HOUSE } from '../house/tree.ts'
import { schematron, whyNoRules } from '../support/billing/en16931.ts'
import { createProduct, processesWith } from '../support/cli/product.ts'

const product = createProduct()
afterAll(() => product.close())

/** The output of the text in a shell. */
function paste(text: string, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('bash', ['-c', text], { env, cwd: HOUSE }, (error, stdout) => {
      if (error === null) resolve(stdout)
      else reject(error)
    })
  })
}

it('three months are invoiced and downloaded, and npm start stops on SIGTERM', async () => {
  const readme = readFileSync(join(HOUSE, 'README.md'), 'utf8')
  const [, exported = ''] = /^export (TOLLGATE_DATA_DIR=\S+ TOLLGATE_CLOCK=.*)$/m.exec(readme) ?? []
  const [, block = ''] = /^```sh invoices\n([\s\S]*?)\n```$/m.exec(readme) ?? []
  const clock = Object.fromEntries(exported.split(' ').map((each) => each.split('=')))
  expect(clock).toMatchObject({ TOLLGATE_DATA_DIR: 'data/january', TOLLGATE_CLOCK_TEST: 'true' })
  const environment = { ...clock, TOLLGATE_DATA_DIR: product.dataDir }
  const started = await product.start(environment, ['npm', 'start'])
  expect(processesWith(product.dataDir)).not.toEqual([])
  const file = join(product.dataDir, 'invoice.pdf')
  const lines = block.replace('http://127.0.0.1:8182', started.admin)
  const output = await paste(lines, { ...process.env, ...environment })
  for (const key of ['202602', '202603', '202604']) {
    expect(output).toContain(`cycle ${key} finished: accounts 1, invoices 1`)
  }
  expect(output.match(/^confirmed 1, not for bill 0$/gm)).toHaveLength(3)
  expect(readFileSync(file).subarray(0, 5).toString()).toBe('%PDF-')
  const bills = await fetch(`${started.admin}/api/bill?action=get_balances&aids=1`)
  expect(await bills.json()).toMatchObject({ details: { 1: { total: '54.00' } } })
  const query = 'action=download&aid=1&billrun_key=202604&format=ubl'
  const ubl = await (await fetch(`${started.admin}/api/accountinvoices?${query}`)).text()
  expect(ubl).toContain('<cbc:DocumentCurrencyCode>GBP</cbc:DocumentCurrencyCode>')
  expect(ubl).toContain('Demo Mobile Ltd')
  if (whyNoRules === '') expect(schematron()(ubl)).toEqual([])
  started.signal('SIGTERM')
  expect((await started.ended).stdout).toContain('tollgate has stopped')
  expect(processesWith(product.dataDir)).toEqual([])
})
