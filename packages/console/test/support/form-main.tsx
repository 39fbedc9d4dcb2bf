/** The console with one more page: a form with fields of a prepaid include. */
import { call } from '../../src/api/client.ts'
import { type Figure, parseExactly } from '../../src/api/figures.ts'
import type { PageRoute } from '../../src/frame/routes.ts'
import { ROUTES } from '../../src/pages/routes.ts'
import { Field } from '../../src/parts/field.tsx'
import { Form, useForm } from '../../src/parts/form.tsx'
import { formatNumber } from '../../src/parts/numbers.ts'

const EXACT = parseExactly('{"figure":12345678901234567890.000000000001}') as { figure: Figure }
const EMPTY = { name: '', external_id: '', priority: '' }

function FormPage() {
  const form = useForm(EMPTY, async ({ name, external_id, priority }) => {
    await call('billapi/prepaidincludes/create', {
      update: {
        from: '2026-01-01',
        name,
        external_id: Number(external_id),
        priority: priority === '' ? ('none' as unknown as number) : Number(priority),
        charging_by: 'total_cost',
        charging_by_usaget: 'total_cost',
        shared: false,
        unlimited: false,
      },
    })
    window.document.title = 'saved'
  })
  const { name, external_id, priority } = form.values.value
  return (
    <>
      <h1 tabIndex={-1}>Form</h1>
      <output>{formatNumber(EXACT.figure)}</output>
      <Form form={form} save="Save">
        <Field label="Name" value={name} onValue={(value) => form.set('name', value)} />
        <Field
          label="Number"
          value={external_id}
          onValue={(value) => form.set('external_id', value)}
        />
        <Field
          label="Priority"
          value={priority}
          onValue={(value) => form.set('priority', value)}
          error={form.errorAt('priority')}
        />
      </Form>
    </>
  )
}

const route: PageRoute = {
  pattern: 'form',
  title: 'page.overview',
  menu: 'overview',
  load: async () => ({ default: FormPage }),
}
;(ROUTES as PageRoute[]).push(route)
await import('../../src/main.tsx')
