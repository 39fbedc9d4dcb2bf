import { expect, it } from 'vitest'
import { intake } from '../../src/cli/intake.ts'
import type { Shell } from '../../src/cli/shell.ts'

it('refuses what is no regular file: it cannot be read again from where it was left', async () => {
  const folder = import.meta.dirname
  const options = { 'file-type': 'calls' }
  await expect(intake({} as Shell, [import.meta.filename, folder], options)).rejects.toThrow(
    `${folder} is not a regular file`,
  )
  const missing = `${folder}/none`
  await expect(intake({} as Shell, [missing], options)).rejects.toThrow(`no file ${missing}`)
})
