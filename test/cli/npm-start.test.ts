import { afterAll, beforeAll, expect, it } from 'vitest'
import { createProduct, type Product, processesWith } from '../support/cli/product.ts'

let product: Product

beforeAll(() => {
  product = createProduct()
})
afterAll(() => product.close())

it('npm start stops the node on SIGTERM', async () => {
  const npm = await product.start({}, ['npm', 'start'])
  expect(processesWith(product.dataDir)).not.toEqual([])
  npm.signal('SIGTERM')
  const { stdout } = await npm.ended
  expect(stdout).toContain('tollgate has stopped')
  expect(processesWith(product.dataDir)).toEqual([])
})
