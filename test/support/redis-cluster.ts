/** The benchmark has a cluster, too: it is the same one. */
export { type ClusterNode, startTestCluster, type TestCluster } from './product/cluster.ts'
