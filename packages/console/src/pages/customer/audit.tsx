/** Changes of the customer. */
import { useRead } from '../../api/read.ts'
import { AuditEntries } from '../../parts/audit-entries.tsx'
import { pageKey } from '../../parts/table.tsx'
import { type Customer, readAudit } from './data.ts'

export function Audit({ customer }: { readonly customer: Customer }) {
  const after = pageKey()
  const { kind, aid, sid } = customer
  const reading = useRead(`audit ${kind} ${aid} ${sid} ${after}`, (signal) =>
    readAudit(customer, after, signal),
  )
  return <AuditEntries reading={reading} />
}
