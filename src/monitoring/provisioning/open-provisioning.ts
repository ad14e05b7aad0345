import { Provisioning, type ProvisioningOptions } from './provisioning.ts';
import { type MonitorsFile, readMonitorsFile } from './read.ts';

/** Keeps the monitors of a service as a file or folder declares them. */
export function openProvisioning(
  file: Omit<MonitorsFile, 'allowPrivate'>,
  {
    allowPrivate,
    ...parts
  }: Omit<ProvisioningOptions, 'path' | 'read'> & { allowPrivate: string[] },
): Provisioning {
  return new Provisioning({
    ...parts,
    path: file.path,
    read: (signal) => readMonitorsFile({ ...file, allowPrivate }, signal),
  });
}
