/** All pages, each loaded on demand. */
import type { PageRoute } from '../frame/routes.ts'

/** The first is the page of an empty address. */
export const ROUTES: readonly PageRoute[] = [
  {
    pattern: 'overview',
    title: 'page.overview',
    load: () => import('./overview/page.tsx'),
  },
  {
    pattern: 'customer/:of/:id',
    title: 'page.customer',
    menu: 'customer',
    load: () => import('./customer/page.tsx'),
  },
  {
    pattern: 'sessions',
    title: 'page.sessions',
    load: () => import('./sessions/page.tsx'),
  },
  {
    pattern: 'file-types',
    title: 'page.filetypes',
    load: () => import('./file-types/page.tsx'),
  },
  {
    pattern: 'usage-files',
    title: 'page.usagefiles',
    load: () => import('./usage-files/page.tsx'),
  },
  {
    pattern: 'rerate',
    title: 'page.rerate',
    load: () => import('./rerate/page.tsx'),
  },
  {
    pattern: 'cycle',
    title: 'page.cycle',
    load: () => import('./cycle/page.tsx'),
  },
  {
    pattern: 'invoices',
    title: 'page.invoices',
    load: () => import('./invoices/page.tsx'),
  },
  {
    pattern: 'payments',
    title: 'page.payments',
    load: () => import('./payments/page.tsx'),
  },
  {
    pattern: 'reports',
    title: 'page.reports',
    load: () => import('./reports/page.tsx'),
  },
  {
    pattern: 'events',
    title: 'page.events',
    load: () => import('./events/page.tsx'),
  },
  {
    pattern: 'audit',
    title: 'page.audit',
    load: () => import('./audit/page.tsx'),
  },
  {
    pattern: 'settings',
    title: 'page.settings',
    load: () => import('./settings/page.tsx'),
  },
  {
    pattern: 'access',
    title: 'page.access',
    load: () => import('./access/page.tsx'),
  },
  {
    pattern: 'catalogue/:collection',
    title: 'page.catalogue',
    menu: 'catalogue/plans',
    load: () => import('./catalogue/page.tsx'),
  },
  {
    pattern: 'catalogue/:collection/:key',
    title: 'page.catalogue',
    menu: 'catalogue/plans',
    load: () => import('./catalogue/page.tsx'),
  },
]
